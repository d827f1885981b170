// Converts coefficients to samples with AVX-512.
#include <immintrin.h>

#include "base/host_device.h"
#include "codec/lanes/block_lists.h"
#include "codec/lanes/coefficients.h"
#include "codec/lanes/idct_avx512.h"
#include "codec/lanes/pixels.h"

namespace tundish::lanes::avx512 {
namespace {

constexpr int kRowPair[4][2] = {{0, 4}, {2, 6}, {1, 3}, {5, 7}};
constexpr int kColumn[8] = {0, 4, 2, 6, 1, 3, 5, 7};
constexpr int kLowColumn[4] = {0, 2, 1, 3};  // with rows in pairs (0, 2) and (1, 3)

constexpr int zigzag_of(int natural) {
  int z = 0;
  while (kZigzag[z] != natural) ++z;
  return z;
}

// Natural position of word w of row pair p, for one block.
constexpr int natural_of(int p, int w) { return kRowPair[p][w % 2] * 8 + kColumn[w / 2]; }
constexpr int low_natural_of(int p, int w) { return (w % 2 * 2 + p) * 8 + kLowColumn[w / 2]; }

// Maps the bytes of two blocks in zigzag order to row pair p of both blocks, every byte twice.
constexpr Bytes64 make_pair_order(int p) {
  Bytes64 out = {};
  for (int i = 0; i < 64; ++i) {
    out.value[i] = static_cast<std::uint8_t>(zigzag_of(natural_of(p, i / 2 % 16)) + i / 32 * 64);
  }
  return out;
}

// Like make_pair_order(), for four blocks of 32 bytes each.
constexpr Bytes64 make_low_order(int p) {
  Bytes64 out = {};
  for (int i = 0; i < 64; ++i) {
    out.value[i] = static_cast<std::uint8_t>(zigzag_of(low_natural_of(p, i / 2 % 8)) + i / 16 * 32);
  }
  return out;
}

// Maps the low and high bytes of one block, in zigzag order, to row pairs 2 h and 2 h + 1.
constexpr Bytes64 make_general_order(int h) {
  Bytes64 out = {};
  for (int i = 0; i < 64; ++i) {
    out.value[i] =
        static_cast<std::uint8_t>(zigzag_of(natural_of(2 * h + i / 32, i / 2 % 16)) + i % 2 * 64);
  }
  return out;
}

constexpr Bytes64 kPairOrder[4] = {make_pair_order(0), make_pair_order(1), make_pair_order(2),
                                   make_pair_order(3)};
constexpr Bytes64 kLowOrder[2] = {make_low_order(0), make_low_order(1)};
constexpr Bytes64 kGeneralOrder[2] = {make_general_order(0), make_general_order(1)};

// --- from packed values to registers -----------------------------------------------------------

TUNDISH_INLINE Vector expand(const UnitValues& unit, int block) {
  return _mm512_maskz_expand_epi8(unit.mask[block],
                                  _mm512_loadu_si512(unit.value + unit.start[block]));
}

TUNDISH_INLINE __m256i expand_low(const UnitValues& unit, int block) {
  const auto* values = reinterpret_cast<const __m256i*>(unit.value + unit.start[block]);
  return _mm256_maskz_expand_epi8(static_cast<__mmask32>(unit.mask[block]),
                                  _mm256_loadu_si256(values));
}

// Quantizers are at most 255, so the upper bytes of their words are 0. The instruction's sum of two
// products is then value * quantizer + value * 0.
TUNDISH_INLINE Vector times(Vector twice, Vector quantizers) {
  return _mm512_maddubs_epi16(quantizers, twice);
}

TUNDISH_INLINE std::int16_t dc_of(const UnitTask& task, int component, int block) {
  return static_cast<std::int16_t>(task.unit->dc[block] *
                                   task.component[component].quantization->value[0]);
}

TUNDISH_INLINE std::uint8_t* out_of(const UnitTask& task, const BlockPair& pair) {
  return task.component[pair.component].out + pair.offset;
}

TUNDISH_INLINE void expand_full(Vector* out, const UnitTask& task, const BlockPair& pair) {
  const Vector left = expand(*task.unit, pair.left);
  const Vector right = expand(*task.unit, pair.right);
  const QuantizationOrder& quantization = *task.component[pair.component].quantization;
  for (int p = 0; p < 4; ++p) {
    const auto* from = reinterpret_cast<const __m256i*>(quantization.value + 16 * p);
    out[p] = times(_mm512_permutex2var_epi8(left, load(kPairOrder[p]), right),
                   _mm512_broadcast_i64x4(_mm256_load_si256(from)));
  }
  out[0] = _mm512_mask_set1_epi16(out[0], 1, dc_of(task, pair.component, pair.left));
  out[0] = _mm512_mask_set1_epi16(out[0], 1 << 16, dc_of(task, pair.component, pair.right));
}

// Expands two pairs of blocks, each pair with its own quantizers.
TUNDISH_INLINE void expand_low(Vector* out, const UnitTask& task, const BlockPair& first,
                               const BlockPair& second) {
  const UnitValues& unit = *task.unit;
  const auto join = [](__m256i low, __m256i high) __attribute__((always_inline)) {
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
  };
  const Vector a = join(expand_low(unit, first.left), expand_low(unit, first.right));
  const Vector b = join(expand_low(unit, second.left), expand_low(unit, second.right));
  const auto quantizers = [&](const BlockPair& pair, int p) __attribute__((always_inline)) {
    const std::int16_t* from = task.component[pair.component].quantization->low + 8 * p;
    return _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(from)));
  };
  for (int p = 0; p < 2; ++p) {
    out[p] = times(_mm512_permutex2var_epi8(a, load(kLowOrder[p]), b),
                   join(quantizers(first, p), quantizers(second, p)));
  }
  out[0] = _mm512_mask_set1_epi16(out[0], 1, dc_of(task, first.component, first.left));
  out[0] = _mm512_mask_set1_epi16(out[0], 1 << 8, dc_of(task, first.component, first.right));
  out[0] = _mm512_mask_set1_epi16(out[0], 1 << 16, dc_of(task, second.component, second.left));
  out[0] = _mm512_mask_set1_epi16(out[0], 1 << 24, dc_of(task, second.component, second.right));
}

// Expands one block of any kind. out: row pairs 0 and 1, then 2 and 3.
TUNDISH_INLINE void expand_general(Vector* out, const UnitTask& task, const BlockLists& lists,
                                   int component, int block) {
  const UnitValues& unit = *task.unit;
  Vector low = expand(unit, block);
  Vector high = _mm512_movm_epi8(_mm512_movepi8_mask(low));
  const auto put = [&](__mmask64 where, int value) __attribute__((always_inline)) {
    low = _mm512_mask_set1_epi8(low, where, static_cast<char>(value));
    high = _mm512_mask_set1_epi8(high, where, static_cast<char>(value >> 8));
  };
  put(1, unit.dc[block]);
  const int start = unit.start[block];
  int i = (lists.marked[block] & 1) != 0 ? lists.escape[block] : -1;
  for (; i >= 0 && unit.escape[i].position >= start; --i) {
    const std::uint64_t rank = std::uint64_t{1} << (unit.escape[i].position - start);
    put(_pdep_u64(rank, unit.mask[block]), unit.escape[i].value);
  }
  const std::int16_t* quantizers = task.component[component].quantization->value;
  for (int h = 0; h < 2; ++h) {
    out[h] = _mm512_mullo_epi16(_mm512_permutex2var_epi8(low, load(kGeneralOrder[h]), high),
                                _mm512_load_si512(quantizers + 32 * h));
  }
}

TUNDISH_INLINE void expand_general(Vector* out, const UnitTask& task, const BlockLists& lists,
                                   const BlockPair& pair) {
  Vector left[2], right[2];
  expand_general(left, task, lists, pair.component, pair.left);
  expand_general(right, task, lists, pair.component, pair.right);
  for (int h = 0; h < 2; ++h) {
    out[2 * h] = _mm512_shuffle_i64x2(left[h], right[h], 0x44);
    out[2 * h + 1] = _mm512_shuffle_i64x2(left[h], right[h], 0xee);
  }
}

// --- the lists ---------------------------------------------------------------------------------

// The second pass of a pair runs between the expansion and the first pass of the next pair. A
// single pair is a chain of dependent instructions longer than the processor's lookahead.
template <class Expand>
TUNDISH_INLINE void render_pairs(const UnitTask& task, const BlockList& list, Expand expand_pair) {
  if (list.count == 0) return;
  Vector pairs[4];
  expand_pair(pairs, list.pair[0]);
  Between between = first_pass(pairs);
  for (int i = 0; i < list.count; ++i) {
    const BlockPair& pair = list.pair[i];
    if (i + 1 < list.count) expand_pair(pairs, list.pair[i + 1]);
    second_pass(out_of(task, pair), task.component[pair.component].stride, between);
    if (i + 1 < list.count) between = first_pass(pairs);
  }
}

void render_full(const UnitTask& task, const BlockList& list) {
  render_pairs(task, list, [&](Vector* out, const BlockPair& pair) __attribute__((always_inline)) {
    expand_full(out, task, pair);
  });
}

void render_general(const UnitTask& task, const BlockLists& lists) {
  render_pairs(task, lists.general,
               [&](Vector* out, const BlockPair& pair)
                   __attribute__((always_inline)) { expand_general(out, task, lists, pair); });
}

void render_low(const UnitTask& task, const BlockList& list) {
  if (list.count == 0) return;
  const int last = list.count - 1;
  const auto second_of = [&](int i) { return i < last ? i + 1 : last; };
  Vector pairs[2];
  expand_low(pairs, task, list.pair[0], list.pair[second_of(0)]);
  Between between = first_pass_low(pairs);
  for (int i = 0; i <= last; i += 2) {
    const BlockPair& first = list.pair[i];
    const BlockPair& second = list.pair[second_of(i)];
    if (i + 2 <= last) expand_low(pairs, task, list.pair[i + 2], list.pair[second_of(i + 2)]);
    second_pass_low(out_of(task, first), task.component[first.component].stride, between.columns);
    second_pass_low(out_of(task, second), task.component[second.component].stride,
                    between.columns + 2);
    if (i + 2 <= last) between = first_pass_low(pairs);
  }
}

void render_flat(const UnitTask& task, const BlockList& list) {
  for (int i = 0; i < list.count; ++i) {
    const BlockPair& pair = list.pair[i];
    const auto level = [&](int block) {
      return _mm_set1_epi8(static_cast<char>(flat_level(dc_of(task, pair.component, block))));
    };
    const __m128i row = _mm_unpacklo_epi64(level(pair.left), level(pair.right));
    std::uint8_t* out = out_of(task, pair);
    for (int y = 0; y < 8; ++y, out += task.component[pair.component].stride) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out), row);
    }
  }
}

}  // namespace

void order_quantization(QuantizationOrder* out, const std::uint16_t* natural) {
  out->wide = false;
  for (int i = 0; i < 64; ++i) {
    out->value[i] = static_cast<std::int16_t>(natural[natural_of(i / 16, i % 16)]);
    out->wide = out->wide || natural[i] > 255;
  }
  for (int i = 0; i < 16; ++i) {
    out->low[i] = static_cast<std::int16_t>(natural[low_natural_of(i / 8, i % 8)]);
  }
}

void render_unit(const UnitTask& task) {
  BlockLists lists;
  avx512::sort_blocks(lists, task);
  render_full(task, lists.full);
  render_low(task, lists.low);
  render_flat(task, lists.flat);
  render_general(task, lists);
}

}  // namespace tundish::lanes::avx512
