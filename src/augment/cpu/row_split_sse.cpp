#include <smmintrin.h>

#include "augment/cpu/row_split.h"

namespace tundish {
namespace {

__m128i load128(const std::uint8_t* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}

void store128(std::uint8_t* to, __m128i bytes) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), bytes);
}

}  // namespace

// Reads five pixels at a time from left to right and writes them from right to left. The 16th byte
// of a store precedes the five pixels; the next store overwrites it.
void mirror_row_sse(std::uint8_t* to, const std::uint8_t* rgb, int width) {
  const __m128i reversed = _mm_setr_epi8(-1, 12, 13, 14, 9, 10, 11, 6, 7, 8, 3, 4, 5, 0, 1, 2);
  int x = 0;
  for (; x + 6 <= width; x += 5) {
    store128(to + 3 * (width - 5 - x) - 1, _mm_shuffle_epi8(load128(rgb + 3 * x), reversed));
  }
  mirror_row(to, rgb + 3 * x, width - x);
}

void split_row_sse(std::uint8_t* red, std::uint8_t* green, std::uint8_t* blue,
                   const std::uint8_t* rgb, int width) {
  // For each channel, selects its bytes of three vectors into their place among 16 pixels.
  const __m128i red_0 = _mm_setr_epi8(0, 3, 6, 9, 12, 15, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
  const __m128i red_1 = _mm_setr_epi8(-1, -1, -1, -1, -1, -1, 2, 5, 8, 11, 14, -1, -1, -1, -1, -1);
  const __m128i red_2 = _mm_setr_epi8(-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 1, 4, 7, 10, 13);
  const __m128i green_0 =
      _mm_setr_epi8(1, 4, 7, 10, 13, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
  const __m128i green_1 = _mm_setr_epi8(-1, -1, -1, -1, -1, 0, 3, 6, 9, 12, 15, -1, -1, -1, -1, -1);
  const __m128i green_2 =
      _mm_setr_epi8(-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 2, 5, 8, 11, 14);
  const __m128i blue_0 = _mm_setr_epi8(2, 5, 8, 11, 14, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
  const __m128i blue_1 = _mm_setr_epi8(-1, -1, -1, -1, -1, 1, 4, 7, 10, 13, -1, -1, -1, -1, -1, -1);
  const __m128i blue_2 = _mm_setr_epi8(-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 3, 6, 9, 12, 15);
  int x = 0;
  for (; x + 16 <= width; x += 16) {
    const __m128i a = load128(rgb + 3 * x);
    const __m128i b = load128(rgb + 3 * x + 16);
    const __m128i c = load128(rgb + 3 * x + 32);
    const auto gather = [&](__m128i from_a, __m128i from_b, __m128i from_c) {
      return _mm_or_si128(_mm_or_si128(_mm_shuffle_epi8(a, from_a), _mm_shuffle_epi8(b, from_b)),
                          _mm_shuffle_epi8(c, from_c));
    };
    store128(red + x, gather(red_0, red_1, red_2));
    store128(green + x, gather(green_0, green_1, green_2));
    store128(blue + x, gather(blue_0, blue_1, blue_2));
  }
  split_row(red + x, green + x, blue + x, rgb + 3 * x, width - x);
}

}  // namespace tundish
