#include <algorithm>
#include <bit>
#include <vector>

#include "codec/lanes/decode_unit.h"
#include "codec/lanes/encode.h"

namespace tundish::lanes {
namespace {

// 32 states and the words they share. Words past the last read as 0 and are counted, so that the
// end of the unit reveals missing words.
class Lanes {
 public:
  explicit Lanes(const UnitHead& head)
      : words_(head.words),
        left_(static_cast<int>(head.words_end - head.words) / 2),
        low_(head.narrow ? 0 : kLowState) {
    std::copy(head.state, head.state + kLanes, state_);
  }

  bool words_used_up() const { return left_ == 0; }
  std::uint32_t state(int lane) const { return state_[lane]; }
  int raw_bits(int lane) const { return static_cast<int>(std::bit_width(state_[lane] | 1)) - 1; }

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

  // Reads up to 15 zeros before a one, then `rice` bits.
  unsigned value(int lane, int rice) {
    std::uint32_t& x = state_[lane];
    const int quotient = std::countr_zero(x | 1u << 15);
    const std::uint32_t rest = x >> (quotient + 1);
    const unsigned out = static_cast<unsigned>(quotient) << rice | (rest & ((1u << rice) - 1));
    x = rest >> rice;
    refill(x);
    return out & 255;  // larger only in damaged units
  }

 private:
  void refill(std::uint32_t& x) {
    if (x >= low_) return;
    x <<= 16;
    if (left_-- > 0) {
      x |= load<std::uint16_t>(words_);
      words_ += 2;
    }
  }

  std::uint32_t state_[kLanes];
  const std::byte* words_;
  int left_;
  std::uint32_t low_;  // a lane whose state is below takes a word
};

// Reads symbols for items 0 to count - 1, item i in lane i mod 32; escapes follow every 32 items.
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

// Reads masks from the highest octet to the lowest, for the blocks that have the octet.
void read_masks(UnitValues& out, Lanes& lanes, const std::uint8_t* octets, const UnitShape& shape,
                const TableSet& set, const Tables& tables) {
  const int blocks = shape.blocks();
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
      return tables.entry[set.mask_table[b >= shape.luma()][octet][context]];
    });
    for (int i = 0; i < count; ++i) out.mask[with_it[i]] |= std::uint64_t{mask[i]} << (8 * octet);
  }
}

// Reads the magnitude - 1 of every value, and finds the escapes.
void read_magnitudes(unsigned* rest, UnitValues& out, Lanes& lanes, const UnitShape& shape,
                     const TableSet& set) {
  const int blocks = shape.blocks();
  out.blocks = blocks;
  out.values = out.escapes = 0;
  int rice_of_escape[kMaxValues];
  for (int b = 0; b < blocks; ++b) {
    out.mask[b] &= ~std::uint64_t{1};
    out.start[b] = static_cast<std::uint16_t>(out.values);
    const int count = std::popcount(out.mask[b]);
    const std::uint8_t* rice = set.rice[b >= shape.luma()][count];
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
}

using RawBits = std::vector<bool>;

// Collects the remaining bits of the states, below their highest bit, then the unit's last bytes.
RawBits raw_bits(const Lanes& lanes, const UnitHead& head) {
  RawBits raw;
  for (int lane = 0; lane < kLanes; ++lane) {
    for (int bit = 0; bit < lanes.raw_bits(lane); ++bit)
      raw.push_back(lanes.state(lane) >> bit & 1);
  }
  for (const std::byte byte : Bytes(head.words_end, head.end)) {
    for (int bit = 0; bit < 8; ++bit) raw.push_back(static_cast<unsigned>(byte) >> bit & 1);
  }
  return raw;
}

void put_signs_on(UnitValues& out, const unsigned* rest, RawBits::const_iterator& next) {
  for (int i = 0, escape = 0; i < out.values; ++i) {
    const int magnitude = static_cast<int>(rest[i]) + 1;
    const int value = *next++ ? -magnitude : magnitude;
    out.value[i] = static_cast<std::int8_t>(value);
    if (escape < out.escapes && out.escape[escape].position == i) {
      out.escape[escape++].value = static_cast<std::int16_t>(value);
    }
  }
  out.escape[out.escapes].position = 65535;
}

// Sums DC from the differences to the previous block of the same component.
void read_dc(UnitValues& out, const std::uint8_t* start, const UnitShape& shape,
             RawBits::const_iterator& next) {
  for (int b = 0, component = 0, dc = 0; b < shape.blocks(); ++b) {
    for (; b == shape.end[component]; ++component) dc = 0;
    const int size = start[b] >> 4;
    int bits = 0;
    for (int i = 0; i < size; ++i) bits |= int{*next++} << i;
    dc += size > 0 && bits >> (size - 1) == 0 ? bits - (1 << size) + 1 : bits;
    out.dc[b] = static_cast<std::int16_t>(dc);
  }
}

}  // namespace

bool decode_unit_reference(UnitValues& out, const CodedUnit& unit, const Tables& tables) {
  const UnitShape& shape = unit.shape;
  const int blocks = shape.blocks();
  UnitHead head;
  if (!read_unit_head(head, unit.bytes)) return false;
  Lanes lanes(head);
  const TableSet& set = tables.set[unit.set];

  // Start of every block: size of the DC difference, and number of octets.
  std::uint8_t start[kMaxBlocks], octets[kMaxBlocks];
  read_symbols(start, lanes, blocks,
               [&](int b) { return tables.entry[start_table(unit.set, b >= shape.luma())]; });
  for (int b = 0; b < blocks; ++b) octets[b] = std::min<std::uint8_t>(start[b] & 15, kOctets);
  read_masks(out, lanes, octets, shape, set, tables);
  unsigned rest[kMaxValues];  // magnitude - 1
  read_magnitudes(rest, out, lanes, shape, set);
  if (!lanes.words_used_up()) return false;

  const RawBits raw = raw_bits(lanes, head);
  std::size_t needed = static_cast<std::size_t>(out.values);
  for (int b = 0; b < blocks; ++b) needed += start[b] >> 4;
  if (needed > raw.size()) return false;
  auto next = raw.begin();
  put_signs_on(out, rest, next);
  read_dc(out, start, shape, next);
  return true;
}

}  // namespace tundish::lanes
