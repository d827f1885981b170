// Lanes of eight pixels for warp_simd.h. Included by warp_avx512.cpp only.
#pragma once

#include <immintrin.h>

#include "augment/pixels/warp/warp_simd.h"

namespace tundish {
namespace {

struct Lanes {
  static constexpr int kLanes = 8;
  using Double = __m512d;
  using Int = __m256i;
  using Bytes = __m512i;
  using Mask = __mmask8;

  TUNDISH_LANES Double all(double v) { return _mm512_set1_pd(v); }
  TUNDISH_LANES Double numbers() { return _mm512_setr_pd(0, 1, 2, 3, 4, 5, 6, 7); }
  TUNDISH_LANES Double add(Double a, Double b) { return _mm512_add_pd(a, b); }
  TUNDISH_LANES Double sub(Double a, Double b) { return _mm512_sub_pd(a, b); }
  TUNDISH_LANES Double mul(Double a, Double b) { return _mm512_mul_pd(a, b); }
  TUNDISH_LANES Double div(Double a, Double b) { return _mm512_div_pd(a, b); }
  TUNDISH_LANES Double min(Double a, Double b) { return _mm512_min_pd(a, b); }
  TUNDISH_LANES Double max(Double a, Double b) { return _mm512_max_pd(a, b); }
  TUNDISH_LANES Double floor(Double a) {
    return _mm512_roundscale_pd(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
  }
  TUNDISH_LANES Mask less(Double a, Double b) { return _mm512_cmp_pd_mask(a, b, _CMP_LT_OQ); }
  TUNDISH_LANES Mask not_less(Double a, Double b) { return _mm512_cmp_pd_mask(a, b, _CMP_GE_OQ); }
  TUNDISH_LANES Mask less(Int a, Int b) { return _mm256_cmplt_epi32_mask(a, b); }
  TUNDISH_LANES Mask both(Mask a, Mask b) { return static_cast<Mask>(a & b); }
  TUNDISH_LANES unsigned bits(Mask mask) { return mask; }
  TUNDISH_LANES Int all_ints(int v) { return _mm256_set1_epi32(v); }
  TUNDISH_LANES Int add(Int a, Int b) { return _mm256_add_epi32(a, b); }
  TUNDISH_LANES Int sub(Int a, Int b) { return _mm256_sub_epi32(a, b); }
  TUNDISH_LANES Int mul(Int a, Int b) { return _mm256_mullo_epi32(a, b); }
  TUNDISH_LANES Int min(Int a, Int b) { return _mm256_min_epi32(a, b); }
  TUNDISH_LANES Int max(Int a, Int b) { return _mm256_max_epi32(a, b); }
  TUNDISH_LANES Int choose(Mask mask, Int a, Int b) { return _mm256_mask_blend_epi32(mask, b, a); }
  TUNDISH_LANES Int to_int(Double a) { return _mm512_cvttpd_epi32(a); }
  TUNDISH_LANES Bytes gather(const std::uint8_t* from, Int offsets, Mask mask) {
    return _mm512_mask_i32gather_epi64(_mm512_setzero_si512(), mask, offsets, from, 1);
  }
  TUNDISH_LANES Int low_ints(Bytes bytes) { return _mm512_cvtepi64_epi32(bytes); }
  template <int kByte>
  TUNDISH_LANES Double byte(Bytes bytes) {
    constexpr auto kLow = static_cast<long long>(0x8080808080808000u + kByte);  // 0x80: zero
    const __m512i place =
        _mm512_set_epi64(kLow + 8, kLow, kLow + 8, kLow, kLow + 8, kLow, kLow + 8, kLow);
    return _mm512_cvtepi64_pd(_mm512_shuffle_epi8(bytes, place));
  }

  // Dot products of four levels with small integers, as exact as in double.
  static constexpr bool kDots = true;
  static constexpr int kV2 = 0x00000100, kP2 = 0x000100ff;  // 0 1 0 0, -1 0 1 0
  static constexpr int kP3 = static_cast<int>(0xff01fe02),
                       kP4 = 0x01ff01ff;  // 2 -2 1 -1, -1 1 -1 1
  TUNDISH_LANES __m256i two_rows(const std::uint8_t* rgb, const std::int32_t* offsets) {
    return _mm256_loadu2_m128i(reinterpret_cast<const __m128i*>(rgb + offsets[1]),
                               reinterpret_cast<const __m128i*>(rgb + offsets[0]));
  }
  TUNDISH_LANES __m512i four_rows(const std::uint8_t* rgb, const std::int32_t* offsets) {
    return _mm512_inserti64x4(_mm512_castsi256_si512(two_rows(rgb, offsets)),
                              two_rows(rgb, offsets + 2), 1);
  }
  TUNDISH_LANES Double low(__m512i v) { return _mm512_cvtepi32_pd(_mm512_castsi512_si256(v)); }
  TUNDISH_LANES Double high(__m512i v) {
    return _mm512_cvtepi32_pd(_mm512_extracti64x4_epi64(v, 1));
  }
  template <class Cubic>
  TUNDISH_LANES void row_cubics(Cubic (&out)[3], const std::uint8_t* rgb, Int first, Mask done) {
    alignas(32) std::int32_t offsets[kLanes];
    _mm256_store_si256(reinterpret_cast<__m256i*>(offsets), _mm256_maskz_mov_epi32(done, first));
    const __m512i pixels[2] = {four_rows(rgb, offsets), four_rows(rgb, offsets + 4)};
    // The four bytes of a level are 3 bytes apart; lanes are 16 bytes apart.
    const __m512i step =
        _mm512_setr_epi32(0, 16, 32, 48, 64, 80, 96, 112, 0, 16, 32, 48, 64, 80, 96, 112);
    const __m512i red = _mm512_add_epi8(_mm512_mullo_epi32(step, _mm512_set1_epi32(0x01010101)),
                                        _mm512_set1_epi32(0x09060300));
    const __m512i green = _mm512_maskz_mov_epi32(0xff00, _mm512_set1_epi32(0x01010101));
    const __m512i levels[2] = {
        _mm512_permutex2var_epi8(pixels[0], _mm512_add_epi8(red, green), pixels[1]),
        _mm512_permutex2var_epi8(pixels[0], _mm512_add_epi8(red, _mm512_set1_epi8(2)), pixels[1])};
    const auto dot = [&](int which, int factors) __attribute__((always_inline)) {
      return _mm512_dpbusd_epi32(_mm512_setzero_si512(), levels[which], _mm512_set1_epi32(factors));
    };
    const __m512i v2 = dot(0, kV2), p2 = dot(0, kP2), p3 = dot(0, kP3), p4 = dot(0, kP4);
    out[0] = {low(v2), low(p2), low(p3), low(p4)};
    out[1] = {high(v2), high(p2), high(p3), high(p4)};
    out[2] = {low(dot(1, kV2)), low(dot(1, kP2)), low(dot(1, kP3)), low(dot(1, kP4))};
  }
  TUNDISH_LANES Int rgb(Double red, Double green, Double blue) {
    const Int two = _mm256_or_si256(to_int(red), _mm256_slli_epi32(to_int(green), 8));
    return _mm256_or_si256(two, _mm256_slli_epi32(to_int(blue), 16));
  }
  TUNDISH_LANES void store(double* to, Double a) { _mm512_storeu_pd(to, a); }
  TUNDISH_LANES void store_pixels(std::uint8_t* to, Int pixels, int count) {
    const __m256i together =
        _mm256_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 16, 17, 18, 20, 21, 22, 24, 25, 26,
                         28, 29, 30, 0, 0, 0, 0, 0, 0, 0, 0);
    _mm256_mask_storeu_epi8(to, (1u << 3 * count) - 1, _mm256_permutexvar_epi8(together, pixels));
  }
};

}  // namespace
}  // namespace tundish
