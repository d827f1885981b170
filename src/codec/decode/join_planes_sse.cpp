#include <smmintrin.h>

#include "codec/decode/join_planes.h"

namespace tundish {

int join_planes_sse(std::uint8_t* rgb, const std::uint8_t* red, const std::uint8_t* green,
                    const std::uint8_t* blue, int width) {
  const auto load128 = [](const std::uint8_t* from) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  };
  // Positions of a channel's levels in each third of 48 bytes. Green and blue are shifted by one
  // and two bytes.
  const __m128i red_0 = _mm_setr_epi8(0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1, -1, 5);
  const __m128i red_1 = _mm_setr_epi8(-1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1, 10, -1);
  const __m128i red_2 =
      _mm_setr_epi8(-1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15, -1, -1);
  const __m128i green_0 = _mm_setr_epi8(-1, 0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1, -1);
  const __m128i green_1 = _mm_setr_epi8(5, -1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1, 10);
  const __m128i green_2 =
      _mm_setr_epi8(-1, -1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15, -1);
  const __m128i blue_0 = _mm_setr_epi8(-1, -1, 0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1);
  const __m128i blue_1 = _mm_setr_epi8(-1, 5, -1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1);
  const __m128i blue_2 =
      _mm_setr_epi8(10, -1, -1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15);
  int x = 0;
  for (; x + 16 <= width; x += 16) {
    const __m128i r = load128(red + x), g = load128(green + x), b = load128(blue + x);
    const auto third = [&](int which, __m128i of_r, __m128i of_g, __m128i of_b) {
      const __m128i bytes =
          _mm_or_si128(_mm_or_si128(_mm_shuffle_epi8(r, of_r), _mm_shuffle_epi8(g, of_g)),
                       _mm_shuffle_epi8(b, of_b));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(rgb + 3 * x + 16 * which), bytes);
    };
    third(0, red_0, green_0, blue_0);
    third(1, red_1, green_1, blue_1);
    third(2, red_2, green_2, blue_2);
  }
  return x;
}

}  // namespace tundish
