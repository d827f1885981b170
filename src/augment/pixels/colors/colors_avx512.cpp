#include <immintrin.h>

#include <cstdint>

namespace tundish {
namespace {

// Byte indices that move three bytes of 16 pixels to the places chosen by a function; 64 = none.
struct Bytes {
  alignas(64) std::uint8_t from[64];
};

struct Lanes {
  static constexpr int kPixels = 16;
  using Ints = int __attribute__((vector_size(64)));
  using Floats = float __attribute__((vector_size(64)));

  // Bytes `first` and 1 of every pixel, widened to 16 bits; other bytes are masked out.
  static constexpr Bytes pairs(int first) {
    Bytes out{};
    for (int i = 0; i < 64; ++i) {
      out.from[i] = static_cast<std::uint8_t>(i / 4 * 3 + (i % 4 == 0 ? first : 1));
    }
    return out;
  }
  static constexpr Bytes dense() {
    Bytes out{};
    for (int i = 0; i < 48; ++i) out.from[i] = static_cast<std::uint8_t>(i / 3 * 4 + i % 3);
    return out;
  }

  static void load(Ints& rg, Ints& bg, const std::uint8_t* rgb) {
    static constexpr Bytes kRg = pairs(0), kBg = pairs(2);
    constexpr __mmask64 kLow = 0x5555555555555555u;
    const __m512i bytes = _mm512_inserti64x4(
        _mm512_castsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(rgb))),
        _mm256_castsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(rgb + 32))), 1);
    rg = Ints(_mm512_maskz_permutexvar_epi8(kLow, _mm512_load_si512(kRg.from), bytes));
    bg = Ints(_mm512_maskz_permutexvar_epi8(kLow, _mm512_load_si512(kBg.from), bytes));
  }
  static void store(std::uint8_t* rgb, Ints packed) {
    static constexpr Bytes kDense = dense();
    const __m512i bytes = _mm512_permutexvar_epi8(_mm512_load_si512(kDense.from), __m512i(packed));
    // Two stores, because a masked store is many times slower on some processors.
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(rgb), _mm512_castsi512_si256(bytes));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(rgb + 32), _mm512_extracti32x4_epi32(bytes, 2));
  }

  static Ints multiply_pairs(Ints a, Ints b) {
    return Ints(_mm512_madd_epi16(__m512i(a), __m512i(b)));
  }
  static Ints low_of(Ints a, Ints b) { return Ints(_mm512_min_epi32(__m512i(a), __m512i(b))); }
  static Ints high_of(Ints a, Ints b) { return Ints(_mm512_max_epi32(__m512i(a), __m512i(b))); }
  static Floats low_of(Floats a, Floats b) { return Floats(_mm512_min_ps(__m512(a), __m512(b))); }
  static Floats high_of(Floats a, Floats b) { return Floats(_mm512_max_ps(__m512(a), __m512(b))); }
  static Ints nearest(Floats a) { return Ints(_mm512_cvtps_epi32(__m512(a))); }
  static Ints shifted(Ints a, Ints right) {
    return Ints(_mm512_srlv_epi32(__m512i(a), __m512i(right)));
  }
  static Ints pick(const std::uint32_t* eight, Ints index) {
    const __m256i some = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(eight));
    const __m512i twice = _mm512_broadcast_i32x8(some);
    return Ints(_mm512_permutexvar_epi32(__m512i(index), twice));
  }
  static Ints shuffle(Ints a, Ints order) {
    const __m512i place =
        _mm512_broadcast_i32x4(_mm_set_epi32(0x0c0c0c0c, 0x08080808, 0x04040404, 0x00000000));
    return Ints(_mm512_shuffle_epi8(__m512i(a), _mm512_add_epi8(__m512i(order), place)));
  }
};

}  // namespace
}  // namespace tundish

#include "augment/pixels/colors/colors_simd.h"

namespace tundish {

void change_colors_avx512(std::uint8_t* rgb, std::size_t pixels, const PixelStep& step) {
  change_colors(rgb, pixels, step);
}
std::uint64_t sum_of_grays_avx512(const std::uint8_t* rgb, std::size_t pixels) {
  return sum_of_grays(rgb, pixels);
}

}  // namespace tundish
