// The inverse DCT for registers V that consist of 16-byte lanes, one block per lane. Each
// instruction set compiles its own copy, so everything here is internal to the including
// file.
//
// A lane holds pairs of 16-bit numbers, so that one instruction (pmaddwd) multiplies both by
// constants and adds the products. The first pass uses pairs of rows for four columns, the second
// pairs of columns for four rows. The IDCT is then two 4 x 4 matrices per pass, one for the even
// rows and one for the odd rows.
#pragma once

#include <cstdint>

#include "base/host_device.h"

namespace tundish::lanes {
namespace {

struct Bytes16 {
  alignas(16) std::uint8_t value[16];
};

template <class V>
TUNDISH_INLINE V dot(V pairs, int first, int second) {
  return madd(pairs, V::set32(static_cast<int>(static_cast<std::uint32_t>(second) << 16 |
                                               (static_cast<std::uint32_t>(first) & 0xffff))));
}

template <class V>
TUNDISH_INLINE void add_odd(V* sums, const V* even, const V* odd) {
  for (int i = 0; i < 4; ++i) {
    sums[i] = add32(even[i], odd[i]);
    sums[7 - i] = sub32(even[i], odd[i]);
  }
}

constexpr int kHalf1 = 1 << 10;                  // rounding: the first pass removes 11 bits,
constexpr int kHalf2 = (1 << 17) + (128 << 18);  // the second removes 18 bits and adds 128

// pairs: rows 0 4, 2 6, 1 3, 5 7.
template <class V>
TUNDISH_INLINE void transform(V* sums, V p04, V p26, V p13, V p57, int start) {
  const V half = V::set32(start);
  const V t0 = add32(dot(p04, 8192, 8192), half), t1 = add32(dot(p04, 8192, -8192), half);
  const V u0 = dot(p26, 10703, 4433), u1 = dot(p26, 4433, -10704);
  const V even[4] = {add32(t0, u0), add32(t1, u1), sub32(t1, u1), sub32(t0, u0)};
  const V odd[4] = {add32(dot(p13, 11363, 9633), dot(p57, 6437, 2260)),
                    add32(dot(p13, 9633, -2259), dot(p57, -11362, -6436)),
                    add32(dot(p13, 6437, -11362), dot(p57, 2261, 9633)),
                    add32(dot(p13, 2260, -6436), dot(p57, 9633, -11363))};
  add_odd(sums, even, odd);
}

// pairs: rows 0 2 and 1 3; the other rows are 0.
template <class V>
TUNDISH_INLINE void transform_low(V* sums, V p02, V p13, int start) {
  const V half = V::set32(start);
  const V even[4] = {add32(dot(p02, 8192, 10703), half), add32(dot(p02, 8192, 4433), half),
                     add32(dot(p02, 8192, -4433), half), add32(dot(p02, 8192, -10703), half)};
  const V odd[4] = {dot(p13, 11363, 9633), dot(p13, 9633, -2259), dot(p13, 6437, -11362),
                    dot(p13, 2260, -6436)};
  add_odd(sums, even, odd);
}

// Returns 16 bits of every sum from bit 11 on: `a` in the even words, `b` in the odd words.
template <class V>
TUNDISH_INLINE V narrow(V a, V b) {
  return odd_words(srl32<11>(a), sll32<5>(b));
}

// Packs four rows of the second pass, one register per column, into bytes: two rows per register.
template <class V>
TUNDISH_INLINE void rows_of(V* out, const V* sums) {
  V two[4];
  for (int i = 0; i < 4; ++i) {
    two[i] = sra16<2>(odd_words(srl32<16>(sums[2 * i]), sums[2 * i + 1]));
  }
  const V a = packus16(two[0], two[2]), b = packus16(two[1], two[3]);
  const V low = unpacklo16(a, b), high = unpackhi16(a, b);
  out[0] = unpacklo32(low, high);
  out[1] = unpackhi32(low, high);
}

// in: 8 registers of words in the order of natural_of().
template <class V>
TUNDISH_INLINE void idct_full(V* rows, const V* in) {
  V first[8], second[8], sums[8];
  transform(first, in[0], in[2], in[4], in[6], kHalf1);
  transform(second, in[1], in[3], in[5], in[7], kHalf1);
  for (int h = 0; h < 2; ++h) {
    V pairs[4];  // one row each: columns 0 4, 2 6, 1 3, 5 7
    for (int i = 0; i < 4; ++i) pairs[i] = narrow(first[4 * h + i], second[4 * h + i]);
    const V a = unpacklo32(pairs[0], pairs[1]), b = unpackhi32(pairs[0], pairs[1]);
    const V c = unpacklo32(pairs[2], pairs[3]), d = unpackhi32(pairs[2], pairs[3]);
    transform(sums, unpacklo64(a, c), unpackhi64(a, c), unpacklo64(b, d), unpackhi64(b, d), kHalf2);
    rows_of(rows + 2 * h, sums);
  }
}

// in: 2 registers with the words of the lowest frequencies.
template <class V>
TUNDISH_INLINE void idct_low(V* rows, const V* in) {
  constexpr Bytes16 kByRow = {{0, 1, 8, 9, 4, 5, 12, 13, 2, 3, 10, 11, 6, 7, 14, 15}};
  V first[8], sums[8];
  transform_low(first, in[0], in[1], kHalf1);
  const V by_row = V::load16(kByRow.value);
  for (int h = 0; h < 2; ++h) {
    const V a = shuffle8(narrow(first[4 * h], first[4 * h + 1]), by_row);
    const V b = shuffle8(narrow(first[4 * h + 2], first[4 * h + 3]), by_row);
    transform_low(sums, even_dwords(a, b), odd_dwords(a, b), kHalf2);
    rows_of(rows + 2 * h, sums);
  }
}

}  // namespace
}  // namespace tundish::lanes
