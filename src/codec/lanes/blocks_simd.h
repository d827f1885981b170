// Converts coefficients to samples in registers that consist of 16-byte lanes, one block per lane.
// Each instruction set compiles its own copy, so everything here is internal to the including
// file.
#pragma once

#include <cstdint>

#include "base/host_device.h"
#include "codec/lanes/block_lists.h"
#include "codec/lanes/coefficients.h"
#include "codec/lanes/idct_simd.h"
#include "codec/lanes/mask_rank.h"
#include "codec/lanes/pixels.h"

namespace tundish::lanes {
namespace {

// --- orders ------------------------------------------------------------------------------------

// Word order of a block for the first pass: for each of four row pairs the columns 0 2 1 5, then
// 4 6 3 7, which the second pass needs next to them.
constexpr int kRowPair[4][2] = {{0, 4}, {2, 6}, {1, 3}, {5, 7}};
constexpr int kColumn[8] = {0, 2, 1, 5, 4, 6, 3, 7};
constexpr int natural_of(int word) {
  return kRowPair[word / 16][word % 2] * 8 + kColumn[word / 2 % 8];
}

// Lowest frequencies only: rows 0 2 of the columns 0 1 2 3, then rows 1 3.
constexpr int low_natural_of(int word) { return (word % 2 * 2 + word / 8) * 8 + word / 2 % 4; }

constexpr std::uint8_t kNothing = 0x80;  // pshufb writes 0 for this index

// Shuffle that moves the 16 bytes from zigzag 16 * k on to the words from 16 * p on.
constexpr Bytes16 make_order(int p, int k, bool low) {
  Bytes16 out = {};
  for (int i = 0; i < 16; ++i) {
    out.value[i] = kNothing;
    for (int z = 16 * k; z < 16 * k + 16; ++z) {
      if (kZigzag[z] == (low ? low_natural_of(i) : natural_of(16 * p + i))) {
        out.value[i] = static_cast<std::uint8_t>(z % 16);
      }
    }
  }
  return out;
}
constexpr Bytes16 kOrder[4][4] = {{make_order(0, 0, false), make_order(0, 1, false),
                                   make_order(0, 2, false), make_order(0, 3, false)},
                                  {make_order(1, 0, false), make_order(1, 1, false),
                                   make_order(1, 2, false), make_order(1, 3, false)},
                                  {make_order(2, 0, false), make_order(2, 1, false),
                                   make_order(2, 2, false), make_order(2, 3, false)},
                                  {make_order(3, 0, false), make_order(3, 1, false),
                                   make_order(3, 2, false), make_order(3, 3, false)}};
constexpr Bytes16 kLowOrder[2] = {make_order(0, 0, true), make_order(0, 1, true)};

struct Places {
  std::uint8_t of_zigzag[64];  // word of each coefficient
};
constexpr Places make_places() {
  Places out = {};
  for (int word = 0; word < 64; ++word) {
    for (int z = 0; z < 64; ++z) {
      if (kZigzag[z] == natural_of(word)) out.of_zigzag[z] = static_cast<std::uint8_t>(word);
    }
  }
  return out;
}
constexpr Places kPlaces = make_places();

void order_simd(QuantizationOrder* out, const std::uint16_t* natural) {
  out->wide = false;
  for (int i = 0; i < 64; ++i) {
    out->value[i] = static_cast<std::int16_t>(natural[natural_of(i)]);
    out->wide = out->wide || natural[i] > 255;
  }
  for (int i = 0; i < 16; ++i) {
    out->low[i] = static_cast<std::int16_t>(natural[low_natural_of(i)]);
  }
}

// For the eight bits of a mask, the positions of their values; `second` is for the upper half of a
// register.
struct Expansion {
  alignas(8) std::uint8_t place[256][8];
};
constexpr Expansion make_expansion(bool second) {
  Expansion out = {};
  for (int mask = 0; mask < 256; ++mask) {
    int rank = second ? 8 : 0;
    for (int i = 0; i < 8; ++i) {
      out.place[mask][i] = (mask >> i & 1) != 0 ? static_cast<std::uint8_t>(rank++) : kNothing;
    }
  }
  return out;
}
constexpr Expansion kExpansion[2] = {make_expansion(false), make_expansion(true)};

// --- from packed values to registers -----------------------------------------------------------

// Returns the bytes of a block from zigzag 16 * k on.
TUNDISH_INLINE __m128i expand16(std::uint64_t mask, std::uint64_t below, const std::int8_t* values,
                                int k) {
  const auto two = [](const void* low, const void* high) __attribute__((always_inline)) {
    return _mm_castpd_si128(
        _mm_loadh_pd(_mm_castsi128_pd(_mm_loadl_epi64(static_cast<const __m128i*>(low))),
                     static_cast<const double*>(high)));
  };
  const std::uint64_t bits = mask >> (16 * k), skip = below >> (16 * k);
  return _mm_shuffle_epi8(
      two(values + (skip & 255), values + (skip >> 8 & 255)),
      two(kExpansion[0].place[bits & 255], kExpansion[1].place[bits >> 8 & 255]));
}

template <class V>
TUNDISH_INLINE void expand(V* out, const UnitValues& unit, const BlockPair& pair, int registers) {
  const std::uint64_t left = unit.mask[pair.left], right = unit.mask[pair.right];
  const std::uint64_t below_left = counts_below(left), below_right = counts_below(right);
  const std::int8_t* values_left = unit.value + unit.start[pair.left];
  const std::int8_t* values_right = unit.value + unit.start[pair.right];
  for (int k = 0; k < registers; ++k) {
    out[k] = V::join(expand16(left, below_left, values_left, k),
                     expand16(right, below_right, values_right, k));
  }
}

TUNDISH_INLINE std::int16_t dc_of(const UnitTask& task, const BlockPair& pair, int block) {
  return static_cast<std::int16_t>(task.unit->dc[block] *
                                   task.component[pair.component].quantization->value[0]);
}

// Multiplies the lower or upper eight bytes of every lane by quantizers. With quantizers of at most
// 255, the upper bytes of their words are 0: pmaddubsw computes value * quantizer + value * 0.
template <bool kWide, class V>
TUNDISH_INLINE V times(V twice, V quantizers) {
  return kWide ? mullo16(sra16<8>(twice), quantizers) : maddubs(quantizers, twice);
}

template <bool kWide, class V>
TUNDISH_INLINE void expand_full(V* out, const UnitTask& task, const BlockPair& pair) {
  V zigzag[4];
  expand(zigzag, *task.unit, pair, 4);
  const std::int16_t* quantizers = task.component[pair.component].quantization->value;
  for (int p = 0; p < 4; ++p) {
    V bytes = shuffle8(zigzag[1], V::load16(kOrder[p][1].value));
    for (int k = 0; k < 4; ++k) {
      if (k == 1 || (p == 3 && k == 0)) continue;  // rows 5 and 7 start at zigzag 20
      bytes = bytes | shuffle8(zigzag[k], V::load16(kOrder[p][k].value));
    }
    out[2 * p] = times<kWide>(unpacklo8(bytes, bytes), V::load16(quantizers + 16 * p));
    out[2 * p + 1] = times<kWide>(unpackhi8(bytes, bytes), V::load16(quantizers + 16 * p + 8));
  }
  out[0] = first_words(out[0], dc_of(task, pair, pair.left), dc_of(task, pair, pair.right));
}

template <class V>
TUNDISH_INLINE void expand_low(V* out, const UnitTask& task, const BlockPair& pair) {
  V zigzag[2];
  expand(zigzag, *task.unit, pair, 2);
  const V bytes = shuffle8(zigzag[0], V::load16(kLowOrder[0].value)) |
                  shuffle8(zigzag[1], V::load16(kLowOrder[1].value));
  const std::int16_t* quantizers = task.component[pair.component].quantization->low;
  out[0] = times<false>(unpacklo8(bytes, bytes), V::load16(quantizers));
  out[1] = times<false>(unpackhi8(bytes, bytes), V::load16(quantizers + 8));
  out[0] = first_words(out[0], dc_of(task, pair, pair.left), dc_of(task, pair, pair.right));
}

// --- the lists ---------------------------------------------------------------------------------

// With one lane, a pair is processed as two separate blocks.
template <class V>
TUNDISH_INLINE BlockPair part_of(const BlockPair& pair, int side) {
  if (V::kLanes == 2) return pair;
  const std::uint8_t block = side == 0 ? pair.left : pair.right;
  return {block, block, pair.component, pair.offset + kBlock * side};
}

template <class V>
TUNDISH_INLINE void store(const UnitTask& task, const BlockPair& part, const V* rows) {
  const ComponentTask& component = task.component[part.component];
  for (int i = 0; i < 4; ++i) {
    store_two_rows(component.out + part.offset + 2 * i * component.stride, component.stride,
                   rows[i]);
  }
}

void patch_escapes(std::int16_t* lane, int lane_step, const UnitTask& task, const BlockPair& part,
                   const BlockLists& lists, int block) {
  if ((lists.marked[block] & 1) == 0) return;
  const UnitValues& unit = *task.unit;
  const int start = unit.start[block];
  const std::uint64_t mask = unit.mask[block], below = counts_below(mask);
  const std::int16_t* quantizers = task.component[part.component].quantization->value;
  for (int i = lists.escape[block]; i >= 0 && unit.escape[i].position >= start; --i) {
    const int word = kPlaces.of_zigzag[place_of_rank(mask, below, unit.escape[i].position - start)];
    lane[word / 8 * lane_step + word % 8] =
        static_cast<std::int16_t>(unit.escape[i].value * quantizers[word]);
  }
}

// Runs several expansions, then their transforms. A single pair is a chain of dependent
// instructions longer than the processor's lookahead, and escapes are inserted in between.
constexpr int kTogether = 8;

template <class V, bool kGeneral>
TUNDISH_INLINE void render_full(const UnitTask& task, const BlockLists& lists,
                                const BlockList& list) {
  constexpr int kSides = 2 / V::kLanes;
  constexpr int kLaneStep = 8 * V::kLanes;
  V words[kTogether][8], rows[4];
  const int parts = list.count * kSides;
  for (int from = 0; from < parts; from += kTogether) {
    const int count = parts - from < kTogether ? parts - from : kTogether;
    for (int i = 0; i < count; ++i) {
      const BlockPair part = part_of<V>(list.pair[(from + i) / kSides], (from + i) % kSides);
      expand_full<kGeneral>(words[i], task, part);
      if (kGeneral) {
        auto* lane = reinterpret_cast<std::int16_t*>(words[i]);
        patch_escapes(lane, kLaneStep, task, part, lists, part.left);
        if (V::kLanes == 2) patch_escapes(lane + 8, kLaneStep, task, part, lists, part.right);
      }
    }
    for (int i = 0; i < count; ++i) {
      const BlockPair part = part_of<V>(list.pair[(from + i) / kSides], (from + i) % kSides);
      idct_full(rows, words[i]);
      store(task, part, rows);
    }
  }
}

template <class V>
TUNDISH_INLINE void render_low(const UnitTask& task, const BlockList& list) {
  constexpr int kSides = 2 / V::kLanes;
  V words[kTogether][2], rows[4];
  const int parts = list.count * kSides;
  for (int from = 0; from < parts; from += kTogether) {
    const int count = parts - from < kTogether ? parts - from : kTogether;
    for (int i = 0; i < count; ++i) {
      expand_low(words[i], task, part_of<V>(list.pair[(from + i) / kSides], (from + i) % kSides));
    }
    for (int i = 0; i < count; ++i) {
      const BlockPair part = part_of<V>(list.pair[(from + i) / kSides], (from + i) % kSides);
      idct_low(rows, words[i]);
      store(task, part, rows);
    }
  }
}

void render_flat(const UnitTask& task, const BlockList& list) {
  for (int i = 0; i < list.count; ++i) {
    const BlockPair& pair = list.pair[i];
    const auto level = [&](int block) {
      return _mm_set1_epi8(static_cast<char>(flat_level(dc_of(task, pair, block))));
    };
    const __m128i row = _mm_unpacklo_epi64(level(pair.left), level(pair.right));
    const ComponentTask& component = task.component[pair.component];
    std::uint8_t* out = component.out + pair.offset;
    for (int y = 0; y < 8; ++y, out += component.stride) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out), row);
    }
  }
}

template <class V>
TUNDISH_INLINE void render_simd(const UnitTask& task) {
  BlockLists lists;
  sort_blocks(lists, task);
  render_full<V, false>(task, lists, lists.full);
  render_low<V>(task, lists.low);
  render_flat(task, lists.flat);
  render_full<V, true>(task, lists, lists.general);
}

}  // namespace
}  // namespace tundish::lanes
