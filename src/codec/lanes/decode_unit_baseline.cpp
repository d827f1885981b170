// Decoder for processors without AVX2: one lane at a time, and one unit at a time.
#include <bit>

#include "codec/lanes/decode_unit_parts.h"

namespace tundish::lanes {
namespace {

struct Lanes {
  std::uint32_t x[kLanes];
  std::uint32_t low;  // a lane whose state is below takes a word
  const std::byte* word;
  const std::byte* end;

  explicit Lanes(const UnitHead& head)
      : low(head.narrow ? 0 : kLowState), word(head.words), end(head.words_end) {
    std::memcpy(x, head.state, sizeof x);
  }

  // Whether a lane needs a word is unpredictable, so this code has no branch.
  TUNDISH_INLINE std::uint32_t refilled(std::uint32_t state) {
    const bool empty = state < low;
    const std::uint32_t next = state << 16 | load<std::uint16_t>(word);
    word += empty ? 2 : 0;
    const std::uint32_t mask = 0u - std::uint32_t{empty};
    return (next & mask) | (state & ~mask);
  }

  // Called once per step of 32 lanes, so that no read goes far past the unit. A unit that took too
  // many words stays past its end, which is detected at the end.
  TUNDISH_INLINE void stay_inside() {
    if (word > end) [[unlikely]]
      word = end + 2;
  }

  TUNDISH_INLINE unsigned bits(int lane, int count) {
    const unsigned out = x[lane] & ((1u << count) - 1);
    x[lane] = refilled(x[lane] >> count);
    return out;
  }

  // Replaces each table in `table` by the symbol read from it.
  TUNDISH_INLINE void symbols(std::uint8_t* table, int count, const Tables& tables) {
    for (int from = 0; from < count; from += kLanes) {
      const int lanes = count - from < kLanes ? count - from : kLanes;
      std::uint32_t escaped = 0;
      for (int lane = 0; lane < lanes; ++lane) {
        std::uint8_t& item = table[from + lane];
        const Entry entry = tables.entry[item][x[lane] % kTableSize];
        x[lane] = refilled((entry >> 10 & 0x7ff) * (x[lane] >> kTableBits) + (entry & 0x3ff));
        item = static_cast<std::uint8_t>(entry >> 24);
        escaped |= (entry >> 21 & 1) << lane;
      }
      for (; escaped != 0; escaped &= escaped - 1) {
        const int lane = __builtin_ctz(escaped);
        table[from + lane] = static_cast<std::uint8_t>(bits(lane, 8));
      }
      stay_inside();
    }
  }
};

void read_starts(UnitWork& work, std::uint8_t* octets, Lanes& lanes, const CodedUnit& unit,
                 const Tables& tables) {
  const int blocks = unit.shape.blocks();
  if (blocks > kMaxBlocks) __builtin_unreachable();  // hint for g++; the geometry guarantees it
  for (int b = 0; b < blocks; ++b) {
    work.dense[b] = static_cast<std::uint8_t>(start_table(unit.set, b >= unit.shape.luma()));
  }
  lanes.symbols(work.dense, blocks, tables);
  for (int b = 0; b < blocks; ++b) {
    const int count = work.dense[b] & 15;
    octets[b] = static_cast<std::uint8_t>(count < kOctets ? count : kOctets);
    work.dc_size[b] = work.dense[b] >> 4;
  }
}

void read_masks(UnitValues& out, UnitWork& work, const std::uint8_t* octets, Lanes& lanes,
                const CodedUnit& unit, const Tables& tables) {
  const int blocks = unit.shape.blocks();
  std::memset(out.mask, 0, sizeof(std::uint64_t) * static_cast<std::size_t>(blocks));
  std::uint8_t context[kMaxBlocks] = {}, with_it[kMaxBlocks];
  for (int octet = kOctets - 1; octet >= 0; --octet) {
    int count = 0;
    for (int b = 0; b < blocks; ++b) {
      if (octets[b] <= octet) continue;
      with_it[count] = static_cast<std::uint8_t>(b);
      const bool chroma = b >= unit.shape.luma();
      work.dense[count++] = tables.set[unit.set].mask_table[chroma][octet][context[b]];
    }
    lanes.symbols(work.dense, count, tables);
    for (int i = 0; i < count; ++i) {
      out.mask[with_it[i]] |= std::uint64_t{work.dense[i]} << (8 * octet);
      context[with_it[i]] = static_cast<std::uint8_t>(next_context(work.dense[i]));
    }
  }
  for (int b = 0; b < blocks; ++b) out.mask[b] &= ~std::uint64_t{1};
}

void read_values(UnitValues& out, UnitWork& work, Lanes& shared) {
  Lanes lanes = shared;  // a local copy: byte stores cannot alias it
  const int values = out.values;
  const std::uint8_t* rices = work.rice;
  int escapes = 0;
  for (int from = 0; from < values; from += kLanes) {
    const int count = values - from < kLanes ? values - from : kLanes;
    for (int lane = 0; lane < count; ++lane) {
      const std::uint32_t x = lanes.x[lane];
      const unsigned rice = rices[from + lane];
      const int zeros = __builtin_ctz(x | 1u << 15);
      const std::uint32_t rest = x >> (zeros + 1);
      const unsigned code =
          (static_cast<unsigned>(zeros) << rice | (rest & ((1u << rice) - 1))) & 255;
      lanes.x[lane] = lanes.refilled(rest >> rice);
      out.value[from + lane] = static_cast<std::int8_t>(code + 1);
      work.position[escapes] = static_cast<std::uint16_t>(from + lane);
      escapes += static_cast<int>(code) >= kRiceEscape[rice];
    }
    lanes.stay_inside();
  }
  out.escapes = escapes;
  for (int i = 0; i < escapes; ++i) {
    work.high[i] = lanes.bits(i % kLanes, kEscapeBits);
    if (i % kLanes == kLanes - 1) lanes.stay_inside();
  }
  lanes.stay_inside();
  shared = lanes;
}

bool decode(UnitValues& out, const CodedUnit& unit, const UnitHead& head, const Tables& tables,
            UnitWork& work) {
  Lanes lanes(head);
  std::uint8_t octets[kMaxBlocks];
  read_starts(work, octets, lanes, unit, tables);
  read_masks(out, work, octets, lanes, unit, tables);
  lay_out_values(out, work, unit.shape, tables.set[unit.set]);
  read_values(out, work, lanes);
  if (lanes.word != lanes.end) return false;
  BitWriter bits{work.raw};
  for (const std::uint32_t x : lanes.x) {
    const int count = 31 - __builtin_clz(x | 1);
    bits.put(x & ((1u << count) - 1), count);
  }
  const int needed = out.values + count_dc_bits(work, unit.shape.blocks());
  if (!append_raw(work, bits, head, needed)) return false;
  finish_escapes(out, work);
  read_dc(out, work, unit.shape);
  for (int i = 0; i < out.values; ++i) {
    const auto negative =
        static_cast<std::int8_t>(-static_cast<int>(work.raw[i / 64] >> (i % 64) & 1));
    out.value[i] = static_cast<std::int8_t>((out.value[i] ^ negative) - negative);
  }
  return true;
}

}  // namespace

unsigned decode_units_baseline(UnitValues* const* out, const CodedUnit* units, int count,
                               const Tables& tables, UnitWork* works) {
  const auto one = [&](UnitValues* const* to, const CodedUnit* from, const UnitHead* heads) {
    return static_cast<unsigned>(decode(**to, *from, *heads, tables, works[0]));
  };
  return one_or_two(out, units, count, one,
                    [&](UnitValues* const* to, const CodedUnit* from, const UnitHead* heads) {
                      return one(to, from, heads) | one(to + 1, from + 1, heads + 1) << 1;
                    });
}

}  // namespace tundish::lanes
