// BlockFinder with 32 comparisons at a time. For files compiled for AVX-512.
#pragma once

#include <immintrin.h>

#include "codec/lanes/unit.h"

namespace tundish::lanes::avx512 {
namespace {

class BlockFinder {
 public:
  explicit BlockFinder(const UnitValues& unit) : unit_(unit) {
    alignas(64) std::uint16_t eighth[32];
    for (int k = 0; k < 32; ++k) eighth[k] = 8 * k < unit.blocks ? unit.start[8 * k] : kEnd;
    eighth_ = _mm512_load_si512(eighth);
  }

  int find(int position) const {
    const auto coarse =
        _mm512_cmpgt_epi16_mask(eighth_, _mm512_set1_epi16(static_cast<short>(position)));
    const int first = (__builtin_ctz(coarse) - 1) * 8;
    // start[blocks] is above the bound, so later entries do not matter.
    const __m128i eight = _mm_loadu_si128(reinterpret_cast<const __m128i*>(unit_.start + first));
    const unsigned fine = _mm_cmpgt_epi16_mask(eight, _mm_set1_epi16(static_cast<short>(position)));
    return first + __builtin_ctz(fine | 1u << 8) - 1;
  }

 private:
  static constexpr std::uint16_t kEnd = 32767;
  const UnitValues& unit_;
  __m512i eighth_;
};

}  // namespace
}  // namespace tundish::lanes::avx512
