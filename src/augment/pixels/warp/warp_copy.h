// Copies single pixels with SSSE3. Included only by files for one instruction set.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace tundish {
namespace {

// Must not copy the last pixel of the image: four bytes are read per pixel. Writes 16 bytes for
// four pixels while more pixels follow.
inline __attribute__((always_inline)) void copy_pixels_here(std::uint8_t* to,
                                                            const std::uint8_t* from,
                                                            const std::int32_t* offsets, int n) {
  const auto at = [&](int i)
                      __attribute__((always_inline)) { return _mm_loadu_si32(from + offsets[i]); };
  const __m128i together = _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
  int i = 0;
  for (; i + 6 <= n; i += 4, to += 12) {
    const __m128i low = _mm_unpacklo_epi32(at(i), at(i + 1));
    const __m128i high = _mm_unpacklo_epi32(at(i + 2), at(i + 3));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                     _mm_shuffle_epi8(_mm_unpacklo_epi64(low, high), together));
  }
  for (; i < n; ++i, to += 3) {
    const std::uint8_t* const pixel = from + offsets[i];
    to[0] = pixel[0];
    to[1] = pixel[1];
    to[2] = pixel[2];
  }
}

}  // namespace
}  // namespace tundish
