// Code shared by the AVX-512 passes (F, BW, DQ, VL, VBMI, VBMI2, VNNI). Internal to the sources of
// these passes.
//
// A weight is split into three signed digits, w = d0 * 65536 + d1 * 256 + d2, so that vpdpbusd
// can sum four taps of one sample at once: three dot products, with the sum shifted by 8 bits
// between them. A slot holds four rows; sample i is a dword of four bytes, one per row, which is
// the layout that vpdpbusd needs in the vertical pass.
//
// "Samples" are bytes of interleaved RGB: sample s is channel s % 3 of pixel s / 3.
#pragma once

#include <immintrin.h>

#include "augment/cpu/passes.h"

namespace tundish::passes_avx512 {

std::size_t table_x_bytes(const TapsView& taps);
void make_table_x(void* memory, const TapsView& taps);
void pass_x(std::uint8_t* slot, const std::uint8_t* const* row, const void* memory);

std::size_t table_y_bytes(const TapsView& taps);
void make_table_y(void* memory, const TapsView& taps);
void pass_y(std::uint8_t* out, const SlotRing& ring, const void* memory, int output, int samples);

namespace {

constexpr int kRows = 4;
constexpr int kTaps = 4;           // taps per dot product
constexpr int kRounding = 1 << 5;  // 2^21 before two shifts by 8
constexpr int kBits = 22;

inline std::size_t align64(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

// The digits of four taps of four pixels: per pixel the dwords d0, d1, d2 (a byte per tap), 0.
inline __m512i digits(__m512i weights) {
  const __m512i carry = _mm512_set1_epi32(0x8080);
  const __m512i words = _mm512_xor_si512(_mm512_add_epi32(weights, carry), carry);
  const __m128i by_digit =
      _mm_setr_epi8(2, 6, 10, 14, 1, 5, 9, 13, 0, 4, 8, 12, -128, -128, -128, -128);
  return _mm512_shuffle_epi8(words, _mm512_broadcast_i32x4(by_digit));
}

// Weights 4 * chunk .. 4 * chunk + 3 of output `i`; zeros past the last weight.
inline __m128i four_weights(const TapsView& taps, int i, int chunk) {
  if (i >= taps.outputs) return _mm_setzero_si128();
  const int left = taps.count - kTaps * chunk;
  const auto mask = static_cast<__mmask8>(left >= kTaps ? 15 : (1 << left) - 1);
  return _mm_maskz_loadu_epi32(mask, taps.weight + std::ptrdiff_t{i} * taps.count + kTaps * chunk);
}

inline __m512i four_pixels(const TapsView& taps, int i, int chunk) {
  __m512i all = _mm512_castsi128_si512(four_weights(taps, i, chunk));
  all = _mm512_inserti32x4(all, four_weights(taps, i + 1, chunk), 1);
  all = _mm512_inserti32x4(all, four_weights(taps, i + 2, chunk), 2);
  return _mm512_inserti32x4(all, four_weights(taps, i + 3, chunk), 3);
}

// Accumulators for the three dot products of four vectors of samples.
struct Sums {
  __m512i high[kRows], middle[kRows], low[kRows];

  Sums() {
    for (int r = 0; r < kRows; ++r) {
      high[r] = _mm512_set1_epi32(kRounding);
      middle[r] = low[r] = _mm512_setzero_si512();
    }
  }
  void add(int r, __m512i levels, __m512i d0, __m512i d1, __m512i d2) {
    high[r] = _mm512_dpbusd_epi32(high[r], levels, d0);
    middle[r] = _mm512_dpbusd_epi32(middle[r], levels, d1);
    low[r] = _mm512_dpbusd_epi32(low[r], levels, d2);
  }
  __m512i sum(int r) const {
    const __m512i upper = _mm512_add_epi32(_mm512_slli_epi32(high[r], 8), middle[r]);
    return _mm512_add_epi32(_mm512_slli_epi32(upper, 8), low[r]);
  }
};

}  // namespace
}  // namespace tundish::passes_avx512
