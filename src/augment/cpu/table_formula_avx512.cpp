#include <immintrin.h>

#include "augment/cpu/table_formula.h"
#include "augment/operations/to_dtype.h"

namespace tundish {
namespace {

constexpr int kStep = 16;

void put(std::byte* to, __m512 value, Dtype dtype) {
  if (dtype == Dtype::float32) {
    _mm512_storeu_ps(to, value);
  } else if (dtype == Dtype::float16) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                        _mm512_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  } else {
    const __m512i bits = _mm512_castps_si512(value);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i rounded =
        _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                        _mm512_cvtepi32_epi16(_mm512_srli_epi32(rounded, 16)));
  }
}

template <Dtype kDtype>
int store(std::byte* to, const std::uint8_t* levels, int count, const TableFormula& formula,
          int which) {
  constexpr int kBytes = kDtype == Dtype::float32 ? 4 : 2;
  const __m512 factor = _mm512_set1_ps(formula.factor);
  int i = 0;
  for (int place = 0; i + kStep <= count; i += kStep, to += kStep * kBytes) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(levels + i));
    const __m512 level = _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(bytes));
    const __m512 inverse = _mm512_load_ps(formula.inverse[which] + place);
    const __m512 centered =
        _mm512_sub_ps(_mm512_mul_ps(level, factor), _mm512_load_ps(formula.mean[which] + place));
    const __m512 quotient = _mm512_mul_ps(centered, inverse);
    const __m512 rest =
        _mm512_fnmadd_ps(quotient, _mm512_load_ps(formula.std[which] + place), centered);
    put(to, _mm512_fmadd_ps(rest, inverse, quotient), kDtype);
    place = place + kStep == TableFormula::kPeriod ? 0 : place + kStep;
  }
  return i;
}

}  // namespace

int store_formula_avx512(std::byte* to, Dtype dtype, const std::uint8_t* levels, int count,
                         const TableFormula& formula, int which) {
  if (dtype == Dtype::float32) return store<Dtype::float32>(to, levels, count, formula, which);
  if (dtype == Dtype::float16) return store<Dtype::float16>(to, levels, count, formula, which);
  return store<Dtype::bfloat16>(to, levels, count, formula, which);
}

}  // namespace tundish
