// AVX2 registers, for code that is written once for any number of 16-byte lanes. Each
// source compiles its own copy, so everything here is internal to the including file.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "base/host_device.h"

namespace tundish::lanes {
namespace {

// Two lanes.
struct Register {
  static constexpr int kLanes = 2;
  __m256i bits;

  TUNDISH_INLINE static Register set32(int value) { return {_mm256_set1_epi32(value)}; }
  TUNDISH_INLINE static Register load16(const void* bytes) {
    return {_mm256_broadcastsi128_si256(_mm_load_si128(static_cast<const __m128i*>(bytes)))};
  }
  TUNDISH_INLINE static Register join(__m128i left, __m128i right) {
    return {_mm256_inserti128_si256(_mm256_castsi128_si256(left), right, 1)};
  }

  // Load a whole register, eight bytes for each lane, or four bytes into the low end.
  TUNDISH_INLINE static Register load(const std::uint8_t* bytes) {
    return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes))};
  }
  TUNDISH_INLINE static Register load_eights(const std::uint8_t* bytes) {
    const __m128i all = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
    return {_mm256_permute4x64_epi64(_mm256_castsi128_si256(all), 0x10)};
  }
  TUNDISH_INLINE static Register load_fours(const std::uint8_t* bytes) {
    return join(_mm_loadu_si32(bytes), _mm_loadu_si32(bytes + 4));
  }
};

TUNDISH_INLINE Register operator|(Register a, Register b) {
  return {_mm256_or_si256(a.bits, b.bits)};
}
TUNDISH_INLINE Register add32(Register a, Register b) { return {_mm256_add_epi32(a.bits, b.bits)}; }
TUNDISH_INLINE Register sub32(Register a, Register b) { return {_mm256_sub_epi32(a.bits, b.bits)}; }
TUNDISH_INLINE Register madd(Register a, Register b) { return {_mm256_madd_epi16(a.bits, b.bits)}; }
TUNDISH_INLINE Register maddubs(Register a, Register b) {
  return {_mm256_maddubs_epi16(a.bits, b.bits)};
}
TUNDISH_INLINE Register mullo16(Register a, Register b) {
  return {_mm256_mullo_epi16(a.bits, b.bits)};
}
TUNDISH_INLINE Register packus16(Register a, Register b) {
  return {_mm256_packus_epi16(a.bits, b.bits)};
}
TUNDISH_INLINE Register shuffle8(Register a, Register b) {
  return {_mm256_shuffle_epi8(a.bits, b.bits)};
}
TUNDISH_INLINE Register unpacklo8(Register a, Register b) {
  return {_mm256_unpacklo_epi8(a.bits, b.bits)};
}
TUNDISH_INLINE Register unpackhi8(Register a, Register b) {
  return {_mm256_unpackhi_epi8(a.bits, b.bits)};
}
TUNDISH_INLINE Register unpacklo16(Register a, Register b) {
  return {_mm256_unpacklo_epi16(a.bits, b.bits)};
}
TUNDISH_INLINE Register unpackhi16(Register a, Register b) {
  return {_mm256_unpackhi_epi16(a.bits, b.bits)};
}
TUNDISH_INLINE Register unpacklo32(Register a, Register b) {
  return {_mm256_unpacklo_epi32(a.bits, b.bits)};
}
TUNDISH_INLINE Register unpackhi32(Register a, Register b) {
  return {_mm256_unpackhi_epi32(a.bits, b.bits)};
}
TUNDISH_INLINE Register unpacklo64(Register a, Register b) {
  return {_mm256_unpacklo_epi64(a.bits, b.bits)};
}
TUNDISH_INLINE Register unpackhi64(Register a, Register b) {
  return {_mm256_unpackhi_epi64(a.bits, b.bits)};
}
template <int kBits>
TUNDISH_INLINE Register srl32(Register a) {
  return {_mm256_srli_epi32(a.bits, kBits)};
}
template <int kBits>
TUNDISH_INLINE Register sll32(Register a) {
  return {_mm256_slli_epi32(a.bits, kBits)};
}
template <int kBits>
TUNDISH_INLINE Register sra16(Register a) {
  return {_mm256_srai_epi16(a.bits, kBits)};
}

// Returns the even 16-bit words of a and the odd ones of b.
TUNDISH_INLINE Register odd_words(Register a, Register b) {
  return {_mm256_blend_epi16(a.bits, b.bits, 0xaa)};
}
TUNDISH_INLINE Register even_dwords(Register a, Register b) {
  return {_mm256_castps_si256(
      _mm256_shuffle_ps(_mm256_castsi256_ps(a.bits), _mm256_castsi256_ps(b.bits), 0x88))};
}
TUNDISH_INLINE Register odd_dwords(Register a, Register b) {
  return {_mm256_castps_si256(
      _mm256_shuffle_ps(_mm256_castsi256_ps(a.bits), _mm256_castsi256_ps(b.bits), 0xdd))};
}

// Replaces the first word of each lane.
TUNDISH_INLINE Register first_words(Register a, int left, int right) {
  const Register words = Register::join(_mm_cvtsi32_si128(left), _mm_cvtsi32_si128(right));
  return {_mm256_blend_epi16(a.bits, words.bits, 1)};
}
// Selects bytes of b where the mask's highest bits are set.
TUNDISH_INLINE Register blend8(Register a, Register b, Register mask) {
  return {_mm256_blendv_epi8(a.bits, b.bits, mask.bits)};
}
TUNDISH_INLINE Register mulhrs16(Register a, Register b) {
  return {_mm256_mulhrs_epi16(a.bits, b.bits)};
}
TUNDISH_INLINE Register add16(Register a, Register b) { return {_mm256_add_epi16(a.bits, b.bits)}; }
TUNDISH_INLINE Register sub16(Register a, Register b) { return {_mm256_sub_epi16(a.bits, b.bits)}; }
template <int kBits>
TUNDISH_INLINE Register srl16(Register a) {
  return {_mm256_srli_epi16(a.bits, kBits)};
}

// Stores the lanes of three registers alternately: the first lane of each, then the second.
TUNDISH_INLINE void store_in_turn(std::uint8_t* out, Register a, Register b, Register c) {
  const auto put = [&](int at, __m128i lane) __attribute__((always_inline)) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 16 * at), lane);
  };
  put(0, _mm256_castsi256_si128(a.bits));
  put(1, _mm256_castsi256_si128(b.bits));
  put(2, _mm256_castsi256_si128(c.bits));
  put(3, _mm256_extracti128_si256(a.bits, 1));
  put(4, _mm256_extracti128_si256(b.bits, 1));
  put(5, _mm256_extracti128_si256(c.bits, 1));
}

TUNDISH_INLINE void store_two_rows(std::uint8_t* out, std::ptrdiff_t stride, Register rows) {
  const __m256i both = _mm256_permute4x64_epi64(rows.bits, 0xd8);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm256_castsi256_si128(both));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out + stride), _mm256_extracti128_si256(both, 1));
}

}  // namespace
}  // namespace tundish::lanes
