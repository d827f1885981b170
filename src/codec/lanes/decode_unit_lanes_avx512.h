// 32 lanes in two registers of 16: their states, and functions that read symbols, value codes and
// bits. For files compiled for AVX-512; internal to the including file.
#pragma once

#include <immintrin.h>

#include "codec/lanes/decode_unit_parts.h"

namespace tundish::lanes {
namespace {

// Returns a mask of the first n of 32.
TUNDISH_INLINE std::uint32_t first_of_32(int n) {
  return n >= 32 ? ~0u : n <= 0 ? 0u : (1u << n) - 1;
}
TUNDISH_INLINE __mmask64 first_of_64(int n) {
  return n >= 64 ? ~0ull : n <= 0 ? 0ull : (1ull << n) - 1;
}
TUNDISH_INLINE __mmask16 half_of(std::uint32_t lanes, int half) {
  return static_cast<__mmask16>(lanes >> (16 * half));
}
TUNDISH_INLINE __m512i set1(std::uint32_t value) {
  return _mm512_set1_epi32(static_cast<int>(value));
}

struct Register {
  alignas(64) std::uint8_t byte[64];
  TUNDISH_INLINE operator __m512i() const { return _mm512_load_si512(byte); }
};

// Returns bytes with byte i = first + step * i.
constexpr Register count_up(int first, int step) {
  Register out = {};
  for (int i = 0; i < 64; ++i) out.byte[i] = static_cast<std::uint8_t>(first + step * i);
  return out;
}
constexpr Register kPlaces = count_up(0, 1);
constexpr Register kLowestBytes = count_up(0, 4);  // lowest byte of each word in two registers
constexpr Register kHighestBytes = count_up(3, 4);

// Looks up entries[at] for 16 lanes with plain loads: faster than the gather instruction where
// measured, and much faster where gather is slow.
TUNDISH_INLINE __m512i look_up(const Entry* entries, __m512i at) {
  const auto four = [&](__m128i index) {
    const auto a = static_cast<std::uint64_t>(_mm_cvtsi128_si64(index));
    const auto b = static_cast<std::uint64_t>(_mm_extract_epi64(index, 1));
    __m128i out = _mm_cvtsi32_si128(static_cast<int>(entries[a & 0xffffffff]));
    out = _mm_insert_epi32(out, static_cast<int>(entries[a >> 32]), 1);
    out = _mm_insert_epi32(out, static_cast<int>(entries[b & 0xffffffff]), 2);
    return _mm_insert_epi32(out, static_cast<int>(entries[b >> 32]), 3);
  };
  __m512i out = _mm512_castsi128_si512(four(_mm512_castsi512_si128(at)));
  out = _mm512_inserti32x4(out, four(_mm512_extracti32x4_epi32(at, 1)), 1);
  out = _mm512_inserti32x4(out, four(_mm512_extracti32x4_epi32(at, 2)), 2);
  return _mm512_inserti32x4(out, four(_mm512_extracti32x4_epi32(at, 3)), 3);
}

struct Lanes {
  __m512i x[2];
  __m512i low;  // a lane whose state is below takes a word
  const std::byte* word;
  const std::byte* end;

  // Lanes that fell below 2^15 take the next words, in lane order.
  TUNDISH_INLINE void refill(int half, __mmask16 active) {
    const __mmask16 empty = _mm512_mask_cmplt_epu32_mask(active, x[half], low);
    const __m512i words =
        _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(word)));
    x[half] = _mm512_mask_or_epi32(x[half], empty, _mm512_slli_epi32(x[half], 16),
                                   _mm512_maskz_expand_epi32(empty, words));
    word += 2 * __builtin_popcount(empty);
  }

  // Called once per step of 32 lanes, so that no read goes far past the unit. A unit that took too
  // many words stays past its end, which is detected at the end.
  TUNDISH_INLINE void stay_inside() {
    if (__builtin_expect(word > end, 0)) word = end + 2;
  }

  // Takes `count` bits from every active lane.
  TUNDISH_INLINE __m512i bits(int half, __m512i count, __mmask16 active) {
    const __m512i above = _mm512_sllv_epi32(_mm512_set1_epi32(-1), count);
    const __m512i out = _mm512_andnot_si512(above, x[half]);
    x[half] = _mm512_mask_srlv_epi32(x[half], active, x[half], count);
    refill(half, active);
    return out;
  }

  // Reads one symbol per active lane; `table` holds the offset of each lane's table in `entries`.
  TUNDISH_INLINE __m256i symbols(const Entry* entries, const __m512i (&table)[2],
                                 std::uint32_t active) {
    __m512i entry[2];
    for (int h = 0; h < 2; ++h) {
      const __m512i at = _mm512_or_si512(table[h], _mm512_and_si512(x[h], set1(kTableSize - 1)));
      entry[h] = look_up(entries, at);
    }
    std::uint32_t escaped = 0;
    for (int h = 0; h < 2; ++h) {
      const __mmask16 lanes = half_of(active, h);
      const __m512i frequency =
          _mm512_and_si512(_mm512_srli_epi32(entry[h], 10), set1(2 * kTableSize - 1));
      const __m512i share = _mm512_mullo_epi32(frequency, _mm512_srli_epi32(x[h], kTableBits));
      x[h] = _mm512_mask_add_epi32(x[h], lanes, share,
                                   _mm512_and_si512(entry[h], set1(kTableSize - 1)));
      refill(h, lanes);
      escaped |= std::uint32_t{_mm512_mask_test_epi32_mask(lanes, entry[h], set1(1u << 21))}
                 << (16 * h);
    }
    if (__builtin_expect(escaped != 0, 0)) {
      for (int h = 0; h < 2; ++h) {
        const __mmask16 lanes = half_of(escaped, h);
        entry[h] = _mm512_mask_slli_epi32(entry[h], lanes, bits(h, set1(8), lanes), 24);
      }
    }
    stay_inside();
    return _mm512_castsi512_si256(_mm512_permutex2var_epi8(entry[0], kHighestBytes, entry[1]));
  }

  // Reads the low eight bits of one value code per active lane, with the 32 parameters at `rice`.
  TUNDISH_INLINE __m256i values(const std::uint8_t* rice, std::uint32_t active) {
    __m512i code[2];
    for (int h = 0; h < 2; ++h) {
      const __m512i k =
          _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(rice + 16 * h)));
      const __m512i capped = _mm512_or_si512(x[h], set1(1u << 15));
      const __m512i unary =  // the zeros and the one
          _mm512_xor_si512(capped, _mm512_add_epi32(capped, _mm512_set1_epi32(-1)));
      const __m512i length = _mm512_popcnt_epi32(unary);
      const __m512i rest = _mm512_srlv_epi32(x[h], length);
      const __m512i next = _mm512_srlv_epi32(rest, k);
      // (length - 1) << k | low k bits of rest
      const __m512i zeros = _mm512_sub_epi32(length, set1(1));
      code[h] = _mm512_sub_epi32(rest, _mm512_sllv_epi32(_mm512_sub_epi32(next, zeros), k));
      x[h] = _mm512_mask_mov_epi32(x[h], half_of(active, h), next);
      refill(h, half_of(active, h));
    }
    stay_inside();
    return _mm512_castsi512_si256(_mm512_permutex2var_epi8(code[0], kLowestBytes, code[1]));
  }
};

}  // namespace
}  // namespace tundish::lanes
