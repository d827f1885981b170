// 32 lanes in four registers of 8: their states, and functions that read symbols, value codes and
// bits. Tables are read with plain loads, which are as fast as the gather instruction where
// gather is fast, and much faster elsewhere. For files compiled for AVX2; internal to the
// including file.
#pragma once

#include <immintrin.h>

#include "codec/lanes/decode_unit_parts.h"
#include "codec/lanes/mask_tables.h"

namespace tundish::lanes {
namespace {

constexpr int kQuarters = 4;  // registers of eight lanes

TUNDISH_INLINE __m256i set1(std::uint32_t value) {
  return _mm256_set1_epi32(static_cast<int>(value));
}
TUNDISH_INLINE __m256i load_256(const void* from) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}
TUNDISH_INLINE void store_256(void* to, __m256i value) {
  _mm256_storeu_si256(static_cast<__m256i*>(to), value);
}

// Returns one byte of each of the 32 words, in order.
template <int kByte>
TUNDISH_INLINE __m256i bytes_of(const __m256i (&words)[kQuarters]) {
  const auto pick = [&](int place) {
    alignas(32) std::int8_t index[32];
    for (int i = 0; i < 32; ++i) {
      index[i] = static_cast<std::int8_t>(i % 16 / 4 == place ? 4 * (i % 4) + kByte : -128);
    }
    return _mm256_load_si256(reinterpret_cast<const __m256i*>(index));
  };
  // Each 128 bits hold four bytes of the first register, four of the second, ...
  __m256i mixed = _mm256_shuffle_epi8(words[0], pick(0));
  for (int q = 1; q < kQuarters; ++q) {
    mixed = _mm256_or_si256(mixed, _mm256_shuffle_epi8(words[q], pick(q)));
  }
  return _mm256_permutevar8x32_epi32(mixed, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

// Returns all ones in the lanes 8 * quarter + i < count.
TUNDISH_INLINE __m256i first_lanes(int count, int quarter) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(count - 8 * quarter),
                            _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

struct Lanes {
  __m256i x[kQuarters];
  __m256i low;  // a lane whose state is below takes a word
  const std::byte* word;
  const std::byte* end;

  // Lanes that fell below 2^15 take the next words, in lane order.
  TUNDISH_INLINE void refill(int q, __m256i active) {
    const __m256i empty = _mm256_and_si256(_mm256_cmpgt_epi32(low, x[q]), active);
    const auto mask = static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(empty)));
    const __m256i words =
        _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(word)));
    const __m256i ranks = _mm256_load_si256(reinterpret_cast<const __m256i*>(kMasks.rank[mask]));
    const __m256i fresh = _mm256_permutevar8x32_epi32(words, ranks);
    x[q] = _mm256_blendv_epi8(x[q], _mm256_or_si256(_mm256_slli_epi32(x[q], 16), fresh), empty);
    word += 2 * __builtin_popcount(mask);
  }

  // Called once per step of 32 lanes, so that no read goes far past the unit. A unit that took too
  // many words stays past its end, which is detected at the end.
  TUNDISH_INLINE void stay_inside() {
    if (__builtin_expect(word > end, 0)) word = end + 2;
  }

  // Takes `count` bits from every active lane.
  TUNDISH_INLINE __m256i bits(int q, __m256i count, __m256i active) {
    const __m256i above = _mm256_sllv_epi32(_mm256_set1_epi32(-1), count);
    const __m256i out = _mm256_andnot_si256(above, x[q]);
    x[q] = _mm256_blendv_epi8(x[q], _mm256_srlv_epi32(x[q], count), active);
    refill(q, active);
    return out;
  }

  TUNDISH_INLINE static __m256i look_up(const Entry* entries, __m256i at) {
    const __m128i low = _mm256_castsi256_si128(at), high = _mm256_extracti128_si256(at, 1);
    const auto half = [&](__m128i index) {
      const auto a = static_cast<std::uint64_t>(_mm_cvtsi128_si64(index));
      const auto b = static_cast<std::uint64_t>(_mm_extract_epi64(index, 1));
      __m128i out = _mm_cvtsi32_si128(static_cast<int>(entries[a & 0xffffffff]));
      out = _mm_insert_epi32(out, static_cast<int>(entries[a >> 32]), 1);
      out = _mm_insert_epi32(out, static_cast<int>(entries[b & 0xffffffff]), 2);
      return _mm_insert_epi32(out, static_cast<int>(entries[b >> 32]), 3);
    };
    return _mm256_set_m128i(half(high), half(low));
  }

  // Reads one symbol in each of the first `count` lanes; `table` holds each lane's table.
  template <bool kAll>
  TUNDISH_INLINE __m256i symbols(const Entry* entries, const std::uint8_t* table, int count) {
    __m256i entry[kQuarters];
    for (int q = 0; q < kQuarters; ++q) {
      const __m256i first = _mm256_slli_epi32(
          _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(table + 8 * q))),
          kTableBits);
      const __m256i at = _mm256_or_si256(first, _mm256_and_si256(x[q], set1(kTableSize - 1)));
      entry[q] = look_up(entries, at);
    }
    unsigned escaped = 0;
    for (int q = 0; q < kQuarters; ++q) {
      const __m256i active = kAll ? _mm256_set1_epi32(-1) : first_lanes(count, q);
      const __m256i frequency =
          _mm256_and_si256(_mm256_srli_epi32(entry[q], 10), set1(2 * kTableSize - 1));
      const __m256i share = _mm256_mullo_epi32(frequency, _mm256_srli_epi32(x[q], kTableBits));
      const __m256i next =
          _mm256_add_epi32(share, _mm256_and_si256(entry[q], set1(kTableSize - 1)));
      x[q] = kAll ? next : _mm256_blendv_epi8(x[q], next, active);
      refill(q, active);
      const __m256i flag = _mm256_and_si256(_mm256_slli_epi32(entry[q], 31 - 21), active);
      escaped |= static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(flag))) << (8 * q);
    }
    if (__builtin_expect(escaped != 0, 0)) {
      for (int q = 0; q < kQuarters; ++q) {
        const __m256i lanes = lanes_of(escaped >> (8 * q));
        const __m256i symbol = _mm256_slli_epi32(bits(q, set1(8), lanes), 24);
        entry[q] = _mm256_blendv_epi8(entry[q], symbol, lanes);
      }
    }
    stay_inside();
    return bytes_of<3>(entry);
  }

  TUNDISH_INLINE static __m256i lanes_of(unsigned mask) {
    const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    return _mm256_cmpeq_epi32(_mm256_and_si256(set1(mask), bit), bit);
  }

  // Reads the low eight bits of one value code in each of the first `count` lanes. `rice` points to
  // the 32 parameters.
  template <bool kAll>
  TUNDISH_INLINE __m256i values(const std::uint8_t* rice, int count) {
    __m256i code[kQuarters];
    for (int q = 0; q < kQuarters; ++q) {
      const __m256i active = kAll ? _mm256_set1_epi32(-1) : first_lanes(count, q);
      const __m256i k =
          _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(rice + 8 * q)));
      const __m256i capped = _mm256_or_si256(x[q], set1(1u << 15));
      const __m256i one =
          _mm256_and_si256(capped, _mm256_sub_epi32(_mm256_setzero_si256(), capped));
      // A float's exponent is the position of the only set bit, plus 127.
      const __m256i exponent = _mm256_srli_epi32(_mm256_castps_si256(_mm256_cvtepi32_ps(one)), 23);
      const __m256i zeros = _mm256_sub_epi32(exponent, set1(127));
      const __m256i rest = _mm256_srlv_epi32(_mm256_srli_epi32(x[q], 1), zeros);
      const __m256i next = _mm256_srlv_epi32(rest, k);
      // zeros << k | low k bits of rest
      code[q] = _mm256_sub_epi32(rest, _mm256_sllv_epi32(_mm256_sub_epi32(next, zeros), k));
      x[q] = kAll ? next : _mm256_blendv_epi8(x[q], next, active);
      refill(q, active);
    }
    stay_inside();
    return bytes_of<0>(code);
  }
};

}  // namespace
}  // namespace tundish::lanes
