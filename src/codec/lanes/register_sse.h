// SSE4 registers, for code that is written once for any number of 16-byte lanes. Each
// source compiles its own copy, so everything here is internal to the including file.
#pragma once

#include <nmmintrin.h>

#include <cstddef>
#include <cstdint>

#include "base/host_device.h"

namespace tundish::lanes {
namespace {

// One lane.
struct Register {
  static constexpr int kLanes = 1;
  __m128i bits;

  TUNDISH_INLINE static Register set32(int value) { return {_mm_set1_epi32(value)}; }
  TUNDISH_INLINE static Register load16(const void* bytes) {
    return {_mm_load_si128(static_cast<const __m128i*>(bytes))};
  }
  TUNDISH_INLINE static Register join(__m128i left, __m128i) { return {left}; }

  // Load a whole register, eight bytes for each lane, or four bytes into the low end.
  TUNDISH_INLINE static Register load(const std::uint8_t* bytes) {
    return {_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes))};
  }
  TUNDISH_INLINE static Register load_eights(const std::uint8_t* bytes) {
    return {_mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes))};
  }
  TUNDISH_INLINE static Register load_fours(const std::uint8_t* bytes) {
    return {_mm_loadu_si32(bytes)};
  }
};

TUNDISH_INLINE Register operator|(Register a, Register b) { return {_mm_or_si128(a.bits, b.bits)}; }
TUNDISH_INLINE Register add32(Register a, Register b) { return {_mm_add_epi32(a.bits, b.bits)}; }
TUNDISH_INLINE Register sub32(Register a, Register b) { return {_mm_sub_epi32(a.bits, b.bits)}; }
TUNDISH_INLINE Register madd(Register a, Register b) { return {_mm_madd_epi16(a.bits, b.bits)}; }
TUNDISH_INLINE Register maddubs(Register a, Register b) {
  return {_mm_maddubs_epi16(a.bits, b.bits)};
}
TUNDISH_INLINE Register mullo16(Register a, Register b) {
  return {_mm_mullo_epi16(a.bits, b.bits)};
}
TUNDISH_INLINE Register packus16(Register a, Register b) {
  return {_mm_packus_epi16(a.bits, b.bits)};
}
TUNDISH_INLINE Register shuffle8(Register a, Register b) {
  return {_mm_shuffle_epi8(a.bits, b.bits)};
}
TUNDISH_INLINE Register unpacklo8(Register a, Register b) {
  return {_mm_unpacklo_epi8(a.bits, b.bits)};
}
TUNDISH_INLINE Register unpackhi8(Register a, Register b) {
  return {_mm_unpackhi_epi8(a.bits, b.bits)};
}
TUNDISH_INLINE Register unpacklo16(Register a, Register b) {
  return {_mm_unpacklo_epi16(a.bits, b.bits)};
}
TUNDISH_INLINE Register unpackhi16(Register a, Register b) {
  return {_mm_unpackhi_epi16(a.bits, b.bits)};
}
TUNDISH_INLINE Register unpacklo32(Register a, Register b) {
  return {_mm_unpacklo_epi32(a.bits, b.bits)};
}
TUNDISH_INLINE Register unpackhi32(Register a, Register b) {
  return {_mm_unpackhi_epi32(a.bits, b.bits)};
}
TUNDISH_INLINE Register unpacklo64(Register a, Register b) {
  return {_mm_unpacklo_epi64(a.bits, b.bits)};
}
TUNDISH_INLINE Register unpackhi64(Register a, Register b) {
  return {_mm_unpackhi_epi64(a.bits, b.bits)};
}
template <int kBits>
TUNDISH_INLINE Register srl32(Register a) {
  return {_mm_srli_epi32(a.bits, kBits)};
}
template <int kBits>
TUNDISH_INLINE Register sll32(Register a) {
  return {_mm_slli_epi32(a.bits, kBits)};
}
template <int kBits>
TUNDISH_INLINE Register sra16(Register a) {
  return {_mm_srai_epi16(a.bits, kBits)};
}

// Returns the even 16-bit words of a and the odd ones of b.
TUNDISH_INLINE Register odd_words(Register a, Register b) {
  return {_mm_blend_epi16(a.bits, b.bits, 0xaa)};
}
TUNDISH_INLINE Register even_dwords(Register a, Register b) {
  return {
      _mm_castps_si128(_mm_shuffle_ps(_mm_castsi128_ps(a.bits), _mm_castsi128_ps(b.bits), 0x88))};
}
TUNDISH_INLINE Register odd_dwords(Register a, Register b) {
  return {
      _mm_castps_si128(_mm_shuffle_ps(_mm_castsi128_ps(a.bits), _mm_castsi128_ps(b.bits), 0xdd))};
}

TUNDISH_INLINE Register first_words(Register a, int left, int) {
  return {_mm_insert_epi16(a.bits, left, 0)};
}
// Selects bytes of b where the mask's highest bits are set.
TUNDISH_INLINE Register blend8(Register a, Register b, Register mask) {
  return {_mm_blendv_epi8(a.bits, b.bits, mask.bits)};
}
TUNDISH_INLINE Register mulhrs16(Register a, Register b) {
  return {_mm_mulhrs_epi16(a.bits, b.bits)};
}
TUNDISH_INLINE Register add16(Register a, Register b) { return {_mm_add_epi16(a.bits, b.bits)}; }
TUNDISH_INLINE Register sub16(Register a, Register b) { return {_mm_sub_epi16(a.bits, b.bits)}; }
template <int kBits>
TUNDISH_INLINE Register srl16(Register a) {
  return {_mm_srli_epi16(a.bits, kBits)};
}

// Stores the lanes of three registers alternately: the first lane of each, then the second.
TUNDISH_INLINE void store_in_turn(std::uint8_t* out, Register a, Register b, Register c) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), a.bits);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 16), b.bits);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 32), c.bits);
}

TUNDISH_INLINE void store_two_rows(std::uint8_t* out, std::ptrdiff_t stride, Register rows) {
  _mm_storel_epi64(reinterpret_cast<__m128i*>(out), rows.bits);
  _mm_storeh_pd(reinterpret_cast<double*>(out + stride), _mm_castsi128_pd(rows.bits));
}

}  // namespace
}  // namespace tundish::lanes
