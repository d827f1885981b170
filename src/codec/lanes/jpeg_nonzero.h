// Finds the nonzero coefficients of a block, as bits in zigzag order.
#pragma once

#include <array>
#include <cstdint>

#include "codec/lanes/coefficients.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace tundish::lanes {

// Bit z: coefficient z of the zigzag is not 0. Reference implementation of nonzero_mask().
inline std::uint64_t nonzero_mask_reference(const Block& block) {
  std::uint64_t mask = 0;
  for (int z = 0; z < 64; ++z) mask |= std::uint64_t{block[kZigzag[z]] != 0} << z;
  return mask;
}

namespace detail {

// Indexed by [row][bits of a row in natural order]; values are the same bits in zigzag order.
using RowMasks = std::array<std::array<std::uint64_t, 256>, 8>;

constexpr RowMasks make_row_masks() {
  RowMasks out = {};
  for (unsigned z = 0; z < 64; ++z) {
    const unsigned row = kZigzag[z] / 8u;
    const unsigned bit = kZigzag[z] % 8u;
    for (unsigned bits = 0; bits < 256; ++bits) {
      if (bits >> bit & 1) out[row][bits] |= std::uint64_t{1} << z;
    }
  }
  return out;
}
inline constexpr RowMasks kRowMasks = make_row_masks();

// Returns the nonzero bits of two rows in natural order, the first row in the low byte.
inline unsigned two_rows(const std::int16_t* rows) {
#ifdef __SSE2__
  const __m128i* at = reinterpret_cast<const __m128i*>(rows);
  const __m128i bytes = _mm_packs_epi16(_mm_loadu_si128(at), _mm_loadu_si128(at + 1));
  const __m128i zeros = _mm_cmpeq_epi8(bytes, _mm_setzero_si128());
  return ~static_cast<unsigned>(_mm_movemask_epi8(zeros)) & 0xffff;
#else
  unsigned bits = 0;
  for (unsigned i = 0; i < 16; ++i) bits |= unsigned{rows[i] != 0} << i;
  return bits;
#endif
}

}  // namespace detail

inline std::uint64_t nonzero_mask(const Block& block) {
  std::uint64_t mask = 0;
  for (std::size_t row = 0; row < 8; row += 2) {
    const unsigned bits = detail::two_rows(block.data() + row * 8);
    mask |= detail::kRowMasks[row][bits & 255] | detail::kRowMasks[row + 1][bits >> 8];
  }
  return mask;
}

}  // namespace tundish::lanes
