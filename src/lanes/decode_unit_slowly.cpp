#include <algorithm>
#include <bit>

#include "lanes/decode_unit.h"
#include "lanes/encode.h"

namespace tundish::lanes {
namespace {

// 32 states and the words they share. Words behind the last read as 0 and are counted, so that
// the end shows that there were too few.
class Lanes {
 public:
  Lanes(const std::byte* states, const std::byte* words, int count) : words_(words), left_(count) {
    for (int lane = 0; lane < kLanes; ++lane) state_[lane] = load<std::uint32_t>(states + 4 * lane);
  }

  bool states_in_range() const {
    return std::all_of(state_, state_ + kLanes,
                       [](std::uint32_t x) { return x >= kLowState && x >> kHighStateBits == 0; });
  }
  bool words_used_up() const { return left_ == 0; }
  std::uint32_t state(int lane) const { return state_[lane]; }
  int sign_bits(int lane) const { return static_cast<int>(std::bit_width(state_[lane] | 1)) - 1; }

  Entry entry(int lane, const Entry* table) {
    std::uint32_t& x = state_[lane];
    const Entry entry = table[x % kTableSize];
    x = (entry >> 10 & 0x7ff) * (x >> kTableBits) + (entry & 0x3ff);
    refill(x);
    return entry;
  }

  unsigned bits(int lane, int count) {
    std::uint32_t& x = state_[lane];
    const unsigned out = x & ((1u << count) - 1);
    x >>= count;
    refill(x);
    return out;
  }

  // Zeros up to a one, at most 15 of them; then `rice` bits.
  unsigned value(int lane, int rice) {
    std::uint32_t& x = state_[lane];
    const int quotient = std::countr_zero(x | 1u << 15);
    const std::uint32_t rest = x >> (quotient + 1);
    const unsigned out = static_cast<unsigned>(quotient) << rice | (rest & ((1u << rice) - 1));
    x = rest >> rice;
    refill(x);
    return out & 255;  // more is in damaged units only
  }

 private:
  void refill(std::uint32_t& x) {
    if (x >= kLowState) return;
    x <<= 16;
    if (left_-- > 0) {
      x |= load<std::uint16_t>(words_);
      words_ += 2;
    }
  }

  std::uint32_t state_[kLanes];
  const std::byte* words_;
  int left_;
};

// Symbols for items 0 to count - 1, item i in lane i mod 32; escapes after each 32.
template <typename TableOf>
void read_symbols(std::uint8_t* out, Lanes& lanes, int count, const TableOf& table_of) {
  for (int from = 0; from < count; from += kLanes) {
    const int to = std::min(from + kLanes, count);
    std::uint32_t escaped = 0;
    for (int i = from; i < to; ++i) {
      const Entry entry = lanes.entry(i - from, table_of(i));
      out[i] = static_cast<std::uint8_t>(entry >> 24);
      escaped |= (entry >> 21 & 1) << (i - from);
    }
    for (int i = from; i < to; ++i) {
      if (escaped >> (i - from) & 1) out[i] = static_cast<std::uint8_t>(lanes.bits(i - from, 8));
    }
  }
}

}  // namespace

bool decode_unit_slowly(UnitValues& out, const CodedUnit& unit, const Tables& tables) {
  const UnitShape& shape = unit.shape;
  const int blocks = shape.blocks();
  if (unit.bytes.size() < kUnitHeadBytes || unit.bytes.size() % 2 != 0) return false;
  const int words = load<std::uint16_t>(unit.bytes.data());
  const std::size_t sign_bytes_at = kUnitHeadBytes + 2 * static_cast<std::size_t>(words);
  if (sign_bytes_at > unit.bytes.size()) return false;
  Lanes lanes(unit.bytes.data() + 2, unit.bytes.data() + kUnitHeadBytes, words);
  if (!lanes.states_in_range()) return false;

  // Start of every block: how many octets it has, and its DC as a difference to the one before.
  std::uint8_t octets[kMaxBlocks];
  int component = 0, dc = 0;
  for (int from = 0; from < blocks; from += kLanes) {
    const int count = std::min(kLanes, blocks - from);
    std::uint8_t start[kLanes];
    read_symbols(start, lanes, count,
                 [&](int i) { return tables.entry[from + i >= shape.luma()]; });
    for (int i = 0; i < count; ++i) {
      const int b = from + i;
      octets[b] = std::min<std::uint8_t>(start[i] & 15, kOctets);
      const int size = start[i] >> 4;
      const int bits = static_cast<int>(lanes.bits(i, size));
      for (; b == shape.end[component]; ++component) dc = 0;
      dc += size > 0 && bits >> (size - 1) == 0 ? bits - (1 << size) + 1 : bits;
      out.dc[b] = static_cast<std::int16_t>(dc);
    }
  }

  // Masks, from the highest octet to the lowest, of the blocks that have it.
  std::fill(out.mask, out.mask + blocks, 0);
  for (int octet = kOctets - 1; octet >= 0; --octet) {
    int with_it[kMaxBlocks];
    int count = 0;
    for (int b = 0; b < blocks; ++b) {
      if (octets[b] > octet) with_it[count++] = b;
    }
    std::uint8_t mask[kMaxBlocks];
    read_symbols(mask, lanes, count, [&](int i) {
      const int b = with_it[i];
      const int context =
          octets[b] == octet + 1
              ? 0
              : next_context(static_cast<unsigned>(out.mask[b] >> (8 * octet + 8)) & 255u);
      return tables.entry[tables.mask_table[b >= shape.luma()][octet][context]];
    });
    for (int i = 0; i < count; ++i) out.mask[with_it[i]] |= std::uint64_t{mask[i]} << (8 * octet);
  }

  // Magnitudes, and which of them are escapes.
  out.blocks = blocks;
  out.values = out.escapes = 0;
  unsigned rest[kMaxValues];  // magnitude - 1
  int rice_of_escape[kMaxValues];
  for (int b = 0; b < blocks; ++b) {
    out.mask[b] &= ~std::uint64_t{1};
    out.start[b] = static_cast<std::uint16_t>(out.values);
    const int count = std::popcount(out.mask[b]);
    const std::uint8_t* rice = tables.rice[b >= shape.luma()][count];
    for (int rank = 0; rank < count; ++rank, ++out.values) {
      const unsigned value = lanes.value(out.values % kLanes, rice[rank]);
      rest[out.values] = value;
      if (static_cast<int>(value) < kRiceEscape[rice[rank]]) continue;
      rice_of_escape[out.escapes] = rice[rank];
      out.escape[out.escapes++].position = static_cast<std::uint16_t>(out.values);
    }
  }
  out.start[blocks] = static_cast<std::uint16_t>(out.values);
  for (int i = 0; i < out.escapes; ++i) {
    const unsigned high = lanes.bits(i % kLanes, kEscapeBits);
    unsigned& value = rest[out.escape[i].position];
    value = high << rice_of_escape[i] | (value & ((1u << rice_of_escape[i]) - 1));
  }
  if (!lanes.words_used_up()) return false;

  // Signs: in what is left of the states below their highest bit, then behind the words.
  const std::byte* sign_bytes = unit.bytes.data() + sign_bytes_at;
  const int stored = static_cast<int>(unit.bytes.size() - sign_bytes_at) * 8;
  int lane = 0, bit = 0;
  for (int i = 0, escape = 0; i < out.values; ++i) {
    while (lane < kLanes && bit == lanes.sign_bits(lane)) {
      ++lane;
      bit = 0;
    }
    if (lane == kLanes && bit >= stored) return false;
    const bool negative = lane < kLanes ? lanes.state(lane) >> bit & 1
                                        : load<std::uint8_t>(sign_bytes + bit / 8) >> (bit % 8) & 1;
    ++bit;
    const int magnitude = static_cast<int>(rest[i]) + 1;
    const int value = negative ? -magnitude : magnitude;
    out.value[i] = static_cast<std::int8_t>(value);
    if (escape < out.escapes && out.escape[escape].position == i) {
      out.escape[escape++].value = static_cast<std::int16_t>(value);
    }
  }
  out.escape[out.escapes].position = 65535;
  return true;
}

}  // namespace tundish::lanes
