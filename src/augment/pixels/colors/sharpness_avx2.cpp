#include <immintrin.h>

#include "augment/pixels/colors/sharpness.h"

namespace tundish {
namespace {

// blend_levels() of 8 levels, in 32-bit lanes.
__m256i blended(__m128i from, __m128i to, __m256 factor) {
  const __m256 begin = _mm256_cvtepi32_ps(_mm256_cvtepu16_epi32(from));
  const __m256 way = _mm256_cvtepi32_ps(_mm256_cvtepi16_epi32(_mm_sub_epi16(to, from)));
  const __m256 level = _mm256_add_ps(begin, _mm256_mul_ps(factor, way));
  const __m256 kept = _mm256_min_ps(_mm256_max_ps(level, _mm256_setzero_ps()), _mm256_set1_ps(255));
  return _mm256_cvttps_epi32(kept);
}

__m256i load(const std::uint16_t* sums) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(sums));
}

__m256i load(const std::uint8_t* levels) {
  return _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(levels)));
}

}  // namespace

std::size_t add_rows_avx2(const SharpnessRow& row) {
  std::size_t i = 0;
  for (; i + 16 <= row.bytes; i += 16) {
    const __m256i two = _mm256_add_epi16(load(row.above + i), load(row.here + i));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(row.sums + i),
                        _mm256_add_epi16(two, load(row.below + i)));
  }
  return i;
}

std::size_t sharpen_row_avx2(const SharpnessRow& row, float factor) {
  const __m256 factors = _mm256_set1_ps(factor);
  std::size_t i = 3;
  for (; i + 16 + 3 <= row.bytes; i += 16) {
    const __m256i level = load(row.here + i);
    const __m256i around = _mm256_add_epi16(
        _mm256_add_epi16(load(row.sums + i - 3), load(row.sums + i)), load(row.sums + i + 3));
    const __m256i sum = _mm256_add_epi16(_mm256_add_epi16(around, _mm256_slli_epi16(level, 2)),
                                         _mm256_set1_epi16(6));
    // Divides a sum of at most 3321 by 13: 5042 is 65536 / 13, rounded up.
    const __m256i smooth = _mm256_mulhi_epu16(sum, _mm256_set1_epi16(5042));
    const __m256i low =
        blended(_mm256_castsi256_si128(smooth), _mm256_castsi256_si128(level), factors);
    const __m256i high =
        blended(_mm256_extracti128_si256(smooth, 1), _mm256_extracti128_si256(level, 1), factors);
    const __m256i pairs = _mm256_permute4x64_epi64(_mm256_packus_epi32(low, high), 0xd8);
    const __m128i bytes =
        _mm_packus_epi16(_mm256_castsi256_si128(pairs), _mm256_extracti128_si256(pairs, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(row.to + i), bytes);
  }
  return i;
}

}  // namespace tundish
