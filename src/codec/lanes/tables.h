// The statistics that a lanes record is coded with: computed once per dataset
// (codec/lanes/train.h) or built in, and stored once per pack.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"

namespace tundish::lanes {

inline constexpr int kLanes = 32;
inline constexpr int kTableBits = 10;
inline constexpr int kTableSize = 1 << kTableBits;
inline constexpr int kSets = 4;                 // an image uses the set that suits it best
inline constexpr int kStartTables = 2 * kSets;  // DC size and number of octets, for luma and chroma
inline constexpr int kMaskTables = 16;          // masks of octets, shared by all sets
inline constexpr int kTables = kStartTables + kMaskTables;
inline constexpr int kOctets = 8;    // groups of eight coefficients, in zigzag order
inline constexpr int kContexts = 9;  // contexts of a mask: see next_context()
inline constexpr int kMaxRice = 7;
inline constexpr int kEscape = 256;  // the symbol for "eight raw bits follow"

// Input of a table: frequency of each symbol, out of 1024. The escape is never 0.
struct Frequencies {
  std::array<std::uint16_t, 257> of = {};
};

// One entry of a decoding table: the meaning of the low ten bits of a state.
//   bits 0-9    position of these ten bits within the symbol's range
//   bits 10-20  the symbol's frequency, 1 to 1024
//   bit 21      set for the escape
//   bits 24-31  the symbol
using Entry = std::uint32_t;

// Parameters that an image selects as a whole.
struct TableSet {
  // Table number by luma/chroma, octet and context; rows of 16, so that a register holds a row.
  alignas(64) std::uint8_t mask_table[2][kOctets][16];
  // Rice parameter by luma/chroma, number of non-zero coefficients of the block, and rank among
  // them.
  alignas(64) std::uint8_t rice[2][64][64];
};

constexpr int start_table(int set, bool chroma) { return 2 * set + chroma; }

struct Tables {
  alignas(64) Entry entry[kTables][kTableSize];  // starts, then masks
  TableSet set[kSets];

  Frequencies frequencies[kTables];               // for the encoder
  std::array<std::uint16_t, 257> first[kTables];  // sum of the frequencies of smaller symbols
};

// The context of an octet's mask. 0 for the block's highest octet in use. Otherwise the number of
// non-zero coefficients in the next higher octet, where 8 counts as 7 and none as 8.
inline constexpr auto kNextContext = [] {
  std::array<std::uint8_t, 256> out = {};
  for (unsigned mask = 0; mask < 256; ++mask) {
    const int count = __builtin_popcount(mask);
    out[mask] = static_cast<std::uint8_t>(count == 0 ? 8 : count == 8 ? 7 : count);
  }
  return out;
}();
inline int next_context(unsigned mask_above) { return kNextContext[mask_above]; }

// The value code: `quotient` zeros, a one, then `rice` bits; at most 15 bits together.
// A quotient of at least the limit, or a value of at least 127, is an escape.
inline constexpr int kRiceLimit[kMaxRice + 1] = {14, 13, 12, 11, 8, 4, 2, 1};
inline constexpr int kRiceEscape[kMaxRice + 1] = {14, 26, 48, 88, 127, 127, 127, 127};
inline constexpr int kEscapeBits = 11;

// Fills entry, frequencies and first; the frequencies add up to 1024.
void set_table(Tables& out, int table, const Frequencies& frequencies);

// Convert to and from the form stored in a pack.
std::vector<std::byte> encode_tables(const Tables& tables);
std::optional<Fault> decode_tables(Tables& out, Bytes bytes);

// Convert to and from the compressed form.
std::vector<std::byte> compress_tables(const Tables& tables);
std::optional<Fault> expand_tables(Tables& out, Bytes bytes);

// Returns tables for unknown data, made from photos of several qualities and samplings.
const Tables& builtin_tables();

}  // namespace tundish::lanes
