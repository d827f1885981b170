// The inverse DCT with AVX-512, for two blocks at a time or four simple ones. Internal to the
// including file.
//
// A register holds pairs of 16-bit numbers, so that one instruction (vpdpwssd) multiplies both by
// constants and adds the products to a 32-bit sum. The first pass uses pairs of rows for each
// column, the second pairs of columns for each row. The IDCT is then two 4 x 4 matrices per pass,
// one for the even rows and one for the odd rows. Columns are in the order 0 4 2 6 1 3 5 7, so that
// the output of the first pass is already paired for the second.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "base/host_device.h"

namespace tundish::lanes::avx512 {
namespace {

using Vector = __m512i;

struct Bytes64 {
  alignas(64) std::uint8_t value[64];
};

TUNDISH_INLINE Vector load(const Bytes64& bytes) { return _mm512_load_si512(bytes.value); }

// Maps columns packed in pairs to rows of 16 bytes: rows 4 h to 4 h + 3 of two blocks.
constexpr Bytes64 make_row_order(int h) {
  Bytes64 out = {};
  for (int i = 0; i < 64; ++i) {
    const int row = i / 16, block = i / 8 % 2, column = i % 8;
    out.value[i] = static_cast<std::uint8_t>(column / 4 * 64 + (2 * h + block) * 16 +
                                             column % 4 / 2 * 8 + row * 2 + column % 2);
  }
  return out;
}

constexpr Bytes64 kRowOrder[2] = {make_row_order(0), make_row_order(1)};

constexpr int kHalf1 = 1 << 10;                  // rounding: the first pass removes 11 bits,
constexpr int kHalf2 = (1 << 17) + (128 << 18);  // the second removes 18 bits and adds 128

TUNDISH_INLINE Vector constants(int first, int second) {
  return _mm512_set1_epi32(static_cast<int>(static_cast<std::uint32_t>(second) << 16 |
                                            (static_cast<std::uint32_t>(first) & 0xffff)));
}

TUNDISH_INLINE Vector dot(Vector sum, Vector pairs, int first, int second) {
  return _mm512_dpwssd_epi32(sum, pairs, constants(first, second));
}

TUNDISH_INLINE Vector dot(Vector pairs, int first, int second) {
  return _mm512_madd_epi16(pairs, constants(first, second));
}

TUNDISH_INLINE void add_odd(Vector* sums, const Vector* even, const Vector* odd) {
  for (int i = 0; i < 4; ++i) {
    sums[i] = _mm512_add_epi32(even[i], odd[i]);
    sums[7 - i] = _mm512_sub_epi32(even[i], odd[i]);
  }
}

// pairs: rows 0 4, 2 6, 1 3, 5 7.
TUNDISH_INLINE void transform(Vector* sums, const Vector* pairs, int start) {
  const Vector half = _mm512_set1_epi32(start);
  const Vector t0 = dot(half, pairs[0], 8192, 8192);
  const Vector t1 = dot(half, pairs[0], 8192, -8192);
  const Vector u0 = dot(pairs[1], 10703, 4433);
  const Vector u1 = dot(pairs[1], 4433, -10704);
  const Vector even[4] = {_mm512_add_epi32(t0, u0), _mm512_add_epi32(t1, u1),
                          _mm512_sub_epi32(t1, u1), _mm512_sub_epi32(t0, u0)};
  const Vector odd[4] = {dot(dot(pairs[2], 11363, 9633), pairs[3], 6437, 2260),
                         dot(dot(pairs[2], 9633, -2259), pairs[3], -11362, -6436),
                         dot(dot(pairs[2], 6437, -11362), pairs[3], 2261, 9633),
                         dot(dot(pairs[2], 2260, -6436), pairs[3], 9633, -11363)};
  add_odd(sums, even, odd);
}

// pairs: rows 0 2 and 1 3; the other rows are 0.
TUNDISH_INLINE void transform_low(Vector* sums, const Vector* pairs, int start) {
  const Vector half = _mm512_set1_epi32(start);
  const Vector even[4] = {dot(half, pairs[0], 8192, 10703), dot(half, pairs[0], 8192, 4433),
                          dot(half, pairs[0], 8192, -4433), dot(half, pairs[0], 8192, -10703)};
  const Vector odd[4] = {dot(pairs[1], 11363, 9633), dot(pairs[1], 9633, -2259),
                         dot(pairs[1], 6437, -11362), dot(pairs[1], 2260, -6436)};
  add_odd(sums, even, odd);
}

// Returns 16 bits of every sum from bit 11 on: each 8 bytes of out[i] hold two columns of row 2 i,
// then the same two columns of row 2 i + 1.
TUNDISH_INLINE void narrow(Vector* out, const Vector* sums) {
  const Vector bits = _mm512_set1_epi64(0x332b130b332b130b);
  for (int i = 0; i < 4; ++i) {
    const Vector upper = _mm512_multishift_epi64_epi8(bits, sums[2 * i]);
    out[i] = _mm512_mask_multishift_epi64_epi8(upper, 0xf0f0f0f0f0f0f0f0, bits, sums[2 * i + 1]);
  }
}

// Stores the sums of the second pass, one register per column. Lanes: rows 0 to 3 of the left
// block, of the right block, then rows 4 to 7 of the left block, of the right block.
TUNDISH_INLINE void store(std::uint8_t* out, std::ptrdiff_t stride, const Vector* sums) {
  const Vector upper_half = _mm512_set4_epi32(0x0f0e0f0e, 0x0b0a0b0a, 0x07060706, 0x03020302);
  Vector two[4];
  for (int i = 0; i < 4; ++i) {
    two[i] = _mm512_mask_shuffle_epi8(sums[2 * i + 1], 0x3333333333333333, sums[2 * i], upper_half);
    two[i] = _mm512_srai_epi16(two[i], 2);
  }
  const Vector left = _mm512_packus_epi16(two[0], two[1]);
  const Vector right = _mm512_packus_epi16(two[2], two[3]);
  for (int h = 0; h < 2; ++h, out += 4 * stride) {
    const Vector rows = _mm512_permutex2var_epi8(left, load(kRowOrder[h]), right);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm512_castsi512_si128(rows));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + stride), _mm512_extracti32x4_epi32(rows, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 2 * stride),
                     _mm512_extracti32x4_epi32(rows, 2));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 3 * stride),
                     _mm512_extracti32x4_epi32(rows, 3));
  }
}

// Data between the passes for a pair or a quartet of blocks: columns in pairs, with rows in the
// order of store(). The two blocks of a pair are the halves of the registers.
struct Between {
  Vector columns[4];
};

TUNDISH_INLINE Between first_pass(const Vector* pairs) {
  Vector sums[8], half[4];
  transform(sums, pairs, kHalf1);
  narrow(half, sums);
  const Vector a = _mm512_unpacklo_epi64(half[0], half[1]);
  const Vector b = _mm512_unpackhi_epi64(half[0], half[1]);
  const Vector c = _mm512_unpacklo_epi64(half[2], half[3]);
  const Vector d = _mm512_unpackhi_epi64(half[2], half[3]);
  return {{_mm512_shuffle_i64x2(a, c, 0x88), _mm512_shuffle_i64x2(b, d, 0x88),
           _mm512_shuffle_i64x2(a, c, 0xdd), _mm512_shuffle_i64x2(b, d, 0xdd)}};
}

TUNDISH_INLINE void second_pass(std::uint8_t* out, std::ptrdiff_t stride, const Between& between) {
  Vector sums[8];
  transform(sums, between.columns, kHalf2);
  store(out, stride, sums);
}

// First pass of four low-frequency blocks; the first two are in columns[0] and [1] of the result.
TUNDISH_INLINE Between first_pass_low(const Vector* pairs) {
  Vector sums[8], half[4];
  transform_low(sums, pairs, kHalf1);
  narrow(half, sums);
  const Vector a = _mm512_unpacklo_epi64(half[0], half[1]);
  const Vector b = _mm512_unpackhi_epi64(half[0], half[1]);
  const Vector c = _mm512_unpacklo_epi64(half[2], half[3]);
  const Vector d = _mm512_unpackhi_epi64(half[2], half[3]);
  return {{_mm512_shuffle_i64x2(a, c, 0x44), _mm512_shuffle_i64x2(b, d, 0x44),
           _mm512_shuffle_i64x2(a, c, 0xee), _mm512_shuffle_i64x2(b, d, 0xee)}};
}

TUNDISH_INLINE void second_pass_low(std::uint8_t* out, std::ptrdiff_t stride,
                                    const Vector* columns) {
  Vector sums[8];
  transform_low(sums, columns, kHalf2);
  store(out, stride, sums);
}

}  // namespace
}  // namespace tundish::lanes::avx512
