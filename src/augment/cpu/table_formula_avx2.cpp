#include <immintrin.h>

#include "augment/cpu/table_formula.h"
#include "augment/operations/to_dtype.h"

namespace tundish {
namespace {

constexpr int kStep = 8;

void put(std::byte* to, __m256 value, Dtype dtype) {
  if (dtype == Dtype::float32) {
    _mm256_storeu_ps(reinterpret_cast<float*>(to), value);
  } else if (dtype == Dtype::float16) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                     _mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT));
  } else {
    const __m256i bits = _mm256_castps_si256(value);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i rounded =
        _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);
    const __m256i high = _mm256_srli_epi32(rounded, 16);
    _mm_storeu_si128(
        reinterpret_cast<__m128i*>(to),
        _mm_packus_epi32(_mm256_castsi256_si128(high), _mm256_extracti128_si256(high, 1)));
  }
}

template <Dtype kDtype>
int store(std::byte* to, const std::uint8_t* levels, int count, const TableFormula& formula,
          int which) {
  constexpr int kBytes = kDtype == Dtype::float32 ? 4 : 2;
  const __m256 factor = _mm256_set1_ps(formula.factor);
  int i = 0;
  for (int place = 0; i + kStep <= count; i += kStep, to += kStep * kBytes) {
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(levels + i));
    const __m256 level = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes));
    const __m256 inverse = _mm256_load_ps(formula.inverse[which] + place);
    const __m256 centered =
        _mm256_sub_ps(_mm256_mul_ps(level, factor), _mm256_load_ps(formula.mean[which] + place));
    const __m256 quotient = _mm256_mul_ps(centered, inverse);
    const __m256 rest =
        _mm256_fnmadd_ps(quotient, _mm256_load_ps(formula.std[which] + place), centered);
    put(to, _mm256_fmadd_ps(rest, inverse, quotient), kDtype);
    place = place + kStep == TableFormula::kPeriod ? 0 : place + kStep;
  }
  return i;
}

}  // namespace

int store_formula_avx2(std::byte* to, Dtype dtype, const std::uint8_t* levels, int count,
                       const TableFormula& formula, int which) {
  if (dtype == Dtype::float32) return store<Dtype::float32>(to, levels, count, formula, which);
  if (dtype == Dtype::float16) return store<Dtype::float16>(to, levels, count, formula, which);
  return store<Dtype::bfloat16>(to, levels, count, formula, which);
}

}  // namespace tundish
