#include <immintrin.h>

#include "augment/pixels/colors/sharpness.h"

namespace tundish {
namespace {

// blend_levels() of 16 levels.
__m128i blended(__m256i from, __m256i to, __m512 factor) {
  const __m512 begin = _mm512_cvtepi32_ps(_mm512_cvtepu16_epi32(from));
  const __m512 way = _mm512_cvtepi32_ps(_mm512_cvtepi16_epi32(_mm256_sub_epi16(to, from)));
  const __m512 level = _mm512_add_ps(begin, _mm512_mul_ps(factor, way));
  const __m512 kept = _mm512_min_ps(_mm512_max_ps(level, _mm512_setzero_ps()), _mm512_set1_ps(255));
  return _mm512_cvtepi32_epi8(_mm512_cvttps_epi32(kept));
}

__m512i load(const std::uint8_t* levels) {
  return _mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(levels)));
}

}  // namespace

std::size_t add_rows_avx512(const SharpnessRow& row) {
  std::size_t i = 0;
  for (; i + 32 <= row.bytes; i += 32) {
    const __m512i two = _mm512_add_epi16(load(row.above + i), load(row.here + i));
    _mm512_storeu_si512(row.sums + i, _mm512_add_epi16(two, load(row.below + i)));
  }
  return i;
}

std::size_t sharpen_row_avx512(const SharpnessRow& row, float factor) {
  const __m512 factors = _mm512_set1_ps(factor);
  std::size_t i = 3;
  for (; i + 32 + 3 <= row.bytes; i += 32) {
    const __m512i level = load(row.here + i);
    const __m512i around = _mm512_add_epi16(
        _mm512_add_epi16(_mm512_loadu_si512(row.sums + i - 3), _mm512_loadu_si512(row.sums + i)),
        _mm512_loadu_si512(row.sums + i + 3));
    const __m512i sum = _mm512_add_epi16(_mm512_add_epi16(around, _mm512_slli_epi16(level, 2)),
                                         _mm512_set1_epi16(6));
    // Divides a sum of at most 3321 by 13: 5042 is 65536 / 13, rounded up.
    const __m512i smooth = _mm512_mulhi_epu16(sum, _mm512_set1_epi16(5042));
    const __m128i low =
        blended(_mm512_castsi512_si256(smooth), _mm512_castsi512_si256(level), factors);
    const __m128i high =
        blended(_mm512_extracti64x4_epi64(smooth, 1), _mm512_extracti64x4_epi64(level, 1), factors);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(row.to + i), low);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(row.to + i + 16), high);
  }
  return i;
}

}  // namespace tundish
