// Huffman codes of a DHT segment, in the form in which a scan writer looks them up.
#pragma once

#include <cstdint>

#include "core/bytes.h"

namespace tundish::lanes {

// Where a code is missing its length is 0 and this bit is set.
inline constexpr std::uint32_t kMissingCode = 1u << 31;

struct Codes {
  Codes();

  // (code << 8 | length in bits) of the symbol "run of zeros, then a value of `size` bits" at
  // [size * 16 + run]. Sizes up to 17 may be looked up; above 15 there are no codes.
  std::uint32_t entry[18 * 16];

  std::uint32_t of(int run, int size) const { return entry[size * 16 + run]; }
  bool has(int run, int size) const { return (of(run, size) & kMissingCode) == 0; }
};

struct CodeTables {
  Codes dc[4], ac[4];
};

// All tables of a DHT segment's body; false when they are no Huffman codes.
bool read_codes(CodeTables& out, Bytes body);

}  // namespace tundish::lanes
