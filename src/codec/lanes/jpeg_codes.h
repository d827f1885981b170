// Huffman codes of a DHT segment, in the form used by a scan writer.
#pragma once

#include <bit>
#include <cstdint>

#include "base/bytes.h"

namespace tundish::lanes {

// A missing code has length 0 and this bit set.
inline constexpr std::uint32_t kMissingCode = 1u << 31;

// The bits after a value's symbol: negative values are stored minus one, so that their highest
// bit is 0.
struct ValueBits {
  std::uint32_t bits;
  int size;
};

inline ValueBits value_bits(int value) {
  const int sign = value >> 31;
  const auto size = static_cast<int>(std::bit_width(static_cast<unsigned>((value ^ sign) - sign)));
  return {static_cast<std::uint32_t>(value + sign) & ((1u << size) - 1), size};
}

struct Codes {
  Codes();

  // (code << 8 | length in bits) of the symbol "run of zeros, then a value of `size` bits" at
  // [size * 16 + run]. Sizes up to 17 may be looked up; there are no codes above 15.
  std::uint32_t entry[18 * 16];

  std::uint32_t of(int run, int size) const { return entry[size * 16 + run]; }
  bool has(int run, int size) const { return (of(run, size) & kMissingCode) == 0; }
};

// Combines symbol and bits of a small value.
struct SmallCodes {
  static constexpr int kEnd = 64;  // values from -64 to 63 except 0

  SmallCodes() = default;
  explicit SmallCodes(const Codes& codes);

  // (code and the value's bits) << 8 | length, at [run][value + kEnd].
  std::uint32_t entry[16][2 * kEnd];

  std::uint32_t of(int run, int value) const { return entry[run][value + kEnd]; }
};

struct CodeTables {
  Codes dc[4], ac[4];
};

// Reads all tables of a DHT segment's body; returns false if they are not valid Huffman codes.
bool read_codes(CodeTables& out, Bytes body);

}  // namespace tundish::lanes
