#include <immintrin.h>

#include <cstdint>

namespace tundish {
namespace {

struct Lanes {
  static constexpr int kPixels = 8;
  using Ints = int __attribute__((vector_size(32)));
  using Floats = float __attribute__((vector_size(32)));

  // Four pixels per half. The upper half starts 4 bytes early so as not to read past the last
  // pixel.
  static void load(Ints& rg, Ints& bg, const std::uint8_t* rgb) {
    const __m256i bytes = _mm256_loadu2_m128i(reinterpret_cast<const __m128i*>(rgb + 8),
                                              reinterpret_cast<const __m128i*>(rgb));
    const __m256i first =
        _mm256_setr_epi8(0, -1, 1, -1, 3, -1, 4, -1, 6, -1, 7, -1, 9, -1, 10, -1,  //
                         4, -1, 5, -1, 7, -1, 8, -1, 10, -1, 11, -1, 13, -1, 14, -1);
    const __m256i last =
        _mm256_setr_epi8(2, -1, 1, -1, 5, -1, 4, -1, 8, -1, 7, -1, 11, -1, 10, -1,  //
                         6, -1, 5, -1, 9, -1, 8, -1, 12, -1, 11, -1, 15, -1, 14, -1);
    rg = Ints(_mm256_shuffle_epi8(bytes, first));
    bg = Ints(_mm256_shuffle_epi8(bytes, last));
  }
  static void store(std::uint8_t* rgb, Ints packed) {
    const __m256i dense = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1));
    const __m256i halves = _mm256_shuffle_epi8(__m256i(packed), dense);
    const __m256i bytes =
        _mm256_permutevar8x32_epi32(halves, _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 7, 7));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(rgb), _mm256_castsi256_si128(bytes));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(rgb + 16), _mm256_extracti128_si256(bytes, 1));
  }

  static Ints multiply_pairs(Ints a, Ints b) {
    return Ints(_mm256_madd_epi16(__m256i(a), __m256i(b)));
  }
  static Ints low_of(Ints a, Ints b) { return Ints(_mm256_min_epi32(__m256i(a), __m256i(b))); }
  static Ints high_of(Ints a, Ints b) { return Ints(_mm256_max_epi32(__m256i(a), __m256i(b))); }
  static Floats low_of(Floats a, Floats b) { return Floats(_mm256_min_ps(__m256(a), __m256(b))); }
  static Floats high_of(Floats a, Floats b) { return Floats(_mm256_max_ps(__m256(a), __m256(b))); }
  static Ints nearest(Floats a) { return Ints(_mm256_cvtps_epi32(__m256(a))); }
  static Ints shifted(Ints a, Ints right) {
    return Ints(_mm256_srlv_epi32(__m256i(a), __m256i(right)));
  }
  static Ints pick(const std::uint32_t* eight, Ints index) {
    const __m256i some = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(eight));
    return Ints(_mm256_permutevar8x32_epi32(some, __m256i(index)));
  }
  static Ints shuffle(Ints a, Ints order) {
    const __m256i place =
        _mm256_broadcastsi128_si256(_mm_set_epi32(0x0c0c0c0c, 0x08080808, 0x04040404, 0x00000000));
    return Ints(_mm256_shuffle_epi8(__m256i(a), _mm256_add_epi8(__m256i(order), place)));
  }
};

}  // namespace
}  // namespace tundish

#include "augment/pixels/colors/colors_simd.h"

namespace tundish {

void change_colors_avx2(std::uint8_t* rgb, std::size_t pixels, const PixelStep& step) {
  change_colors(rgb, pixels, step);
}
std::uint64_t sum_of_grays_avx2(const std::uint8_t* rgb, std::size_t pixels) {
  return sum_of_grays(rgb, pixels);
}

}  // namespace tundish
