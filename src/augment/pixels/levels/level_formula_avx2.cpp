#include <immintrin.h>

#include "augment/pixels/levels/level_formula_simd.h"

namespace tundish {
namespace {

// The level is placed above 8 zero bits, so the high half of the 16-bit product is the product
// shifted by 8.
std::size_t multiply(std::uint8_t* levels, std::size_t count, const LevelFormula& formula) {
  const __m256i factor = _mm256_set1_epi16(static_cast<short>(formula.factor));
  const __m256i zero = _mm256_setzero_si256();
  const __m128i shift = _mm_cvtsi32_si128(formula.shift - 8);
  std::size_t i = 0;
  for (; i + 32 <= count; i += 32) {
    __m256i* at = reinterpret_cast<__m256i*>(levels + i);
    const __m256i bytes = _mm256_loadu_si256(at);
    const __m256i low = _mm256_mulhi_epu16(_mm256_unpacklo_epi8(zero, bytes), factor);
    const __m256i high = _mm256_mulhi_epu16(_mm256_unpackhi_epi8(zero, bytes), factor);
    _mm256_storeu_si256(
        at, _mm256_packus_epi16(_mm256_srl_epi16(low, shift), _mm256_srl_epi16(high, shift)));
  }
  return i;
}

}  // namespace

void apply_formula_avx2(std::uint8_t* levels, std::size_t count, const LevelFormula& formula) {
  using Lanes = FormulaLanes<32>;
  using Kind = LevelFormula::Kind;
  const std::size_t done = formula.kind == Kind::bits   ? Lanes::bits(levels, count, formula)
                           : formula.kind == Kind::part ? Lanes::part(levels, count, formula)
                                                        : multiply(levels, count, formula);
  apply_formula_baseline(levels + done, count - done, formula);
}

}  // namespace tundish
