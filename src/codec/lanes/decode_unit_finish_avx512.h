// The steps after a unit's value codes: the high bits of escapes, the raw bits, DC and the signs.
// For files compiled for AVX-512; internal to the including file.
#pragma once

#include <immintrin.h>

#include "codec/lanes/decode_unit_lanes_avx512.h"

namespace tundish::lanes {
namespace {

TUNDISH_INLINE void find_escapes(UnitValues& out, UnitWork& work) {
  std::uint16_t* to = work.position;
  work.escaped[(out.values + kLanes - 1) / kLanes] = 0;
  for (int i = 0; i < out.values; i += 64) {
    std::uint64_t escaped;
    std::memcpy(&escaped, work.escaped + i / kLanes, sizeof escaped);
    const __m512i found = _mm512_maskz_compress_epi8(escaped, kPlaces);
    const __m512i base = _mm512_set1_epi16(static_cast<short>(i));
    const __m512i first = _mm512_cvtepu8_epi16(_mm512_castsi512_si256(found));
    _mm512_storeu_si512(to, _mm512_add_epi16(first, base));
    const int count = __builtin_popcountll(escaped);
    if (__builtin_expect(count > 32, 0)) {
      const __m512i others = _mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64(found, 1));
      _mm512_storeu_si512(to + 32, _mm512_add_epi16(others, base));
    }
    to += count;
  }
  out.escapes = static_cast<int>(to - work.position);
}

// Writes the remaining bits of the states, below their highest set bit, two lanes at a time.
TUNDISH_INLINE void put_states(BitWriter& bits, const Lanes& lanes) {
  for (int h = 0; h < 2; ++h) {
    const __m512i state = _mm512_or_si512(lanes.x[h], set1(1));
    const __m512i count = _mm512_sub_epi32(set1(31), _mm512_lzcnt_epi32(state));
    const __m512i field =
        _mm512_andnot_si512(_mm512_sllv_epi32(_mm512_set1_epi32(-1), count), lanes.x[h]);
    const __m512i even = _mm512_maskz_mov_epi32(0x5555, field);
    const __m512i odd = _mm512_srli_epi64(field, 32);
    const __m512i even_count = _mm512_maskz_mov_epi32(0x5555, count);
    alignas(64) std::uint64_t pair[8], pair_count[8];
    _mm512_store_si512(pair, _mm512_or_si512(even, _mm512_sllv_epi64(odd, even_count)));
    _mm512_store_si512(pair_count, _mm512_add_epi64(even_count, _mm512_srli_epi64(count, 32)));
    for (int i = 0; i < 8; ++i) bits.put(pair[i], static_cast<int>(pair_count[i]));
  }
}

// Runs before the signs are applied: `value` holds magnitudes.
TUNDISH_INLINE void finish_escapes_together(UnitValues& out, const UnitWork& work) {
  for (int i = 0; i < out.escapes; i += 16) {
    const __m512i at = _mm512_maskz_cvtepu16_epi32(
        half_of(first_of_32(out.escapes - i), 0),
        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(work.position + i)));
    const auto byte_of = [&](const void* bytes) {
      return _mm512_and_si512(_mm512_i32gather_epi32(at, bytes, 1), set1(255));
    };
    const __m512i rice = byte_of(work.rice);
    const __m512i code = _mm512_sub_epi32(byte_of(out.value), set1(1));
    const __m512i low = _mm512_andnot_si512(_mm512_sllv_epi32(_mm512_set1_epi32(-1), rice), code);
    const __m512i high = _mm512_sllv_epi32(_mm512_load_si512(work.high + i), rice);
    const __m512i magnitude = _mm512_add_epi32(_mm512_or_si512(high, low), set1(1));
    const __m512i signs = _mm512_i32gather_epi32(_mm512_srli_epi32(at, 5), work.raw, 4);
    const __mmask16 negative =
        _mm512_test_epi32_mask(_mm512_srlv_epi32(signs, _mm512_and_si512(at, set1(31))), set1(1));
    const __m512i value =
        _mm512_mask_sub_epi32(magnitude, negative, _mm512_setzero_si512(), magnitude);
    _mm512_storeu_si512(out.escape + i, _mm512_or_si512(at, _mm512_slli_epi32(value, 16)));
  }
  out.escape[out.escapes].position = 65535;
}

// Replaces byte i of each 16 by the sum of the bytes before it.
TUNDISH_INLINE __m512i sums_before(__m512i bytes) {
  __m512i sum = _mm512_bslli_epi128(bytes, 1);
  sum = _mm512_add_epi8(sum, _mm512_bslli_epi128(sum, 1));
  sum = _mm512_add_epi8(sum, _mm512_bslli_epi128(sum, 2));
  sum = _mm512_add_epi8(sum, _mm512_bslli_epi128(sum, 4));
  return _mm512_add_epi8(sum, _mm512_bslli_epi128(sum, 8));
}

// Returns 16 DC differences whose bits are concatenated from bit `at` on.
TUNDISH_INLINE __m512i dc_differences(const std::byte* raw, unsigned at, __m128i sizes,
                                      __m128i bits_before) {
  const __m512i first =
      _mm512_add_epi32(_mm512_cvtepu8_epi32(bits_before), set1(at % 8));  // relative to `near`
  const __m512i bytes = _mm512_add_epi32(
      _mm512_mullo_epi32(_mm512_srli_epi32(first, 3), set1(0x01010101)), set1(0x03020100));
  const __m512i near = _mm512_loadu_si512(raw + at / 8);
  const __m512i all = _mm512_andnot_si512(
      _mm512_sllv_epi32(_mm512_set1_epi32(-1), _mm512_cvtepu8_epi32(sizes)), _mm512_set1_epi32(-1));
  const __m512i bits = _mm512_and_si512(
      _mm512_srlv_epi32(_mm512_permutexvar_epi8(bytes, near), _mm512_and_si512(first, set1(7))),
      all);
  const __mmask16 negative = _mm512_cmple_epu32_mask(bits, _mm512_srli_epi32(all, 1));
  return _mm512_mask_sub_epi32(bits, negative, bits, all);  // zero if there are no bits
}

// Replaces every element by the sum of all elements up to it.
TUNDISH_INLINE __m512i running_sums(__m512i words) {
  __m512i sum = _mm512_add_epi16(words, _mm512_bslli_epi128(words, 2));
  sum = _mm512_add_epi16(sum, _mm512_bslli_epi128(sum, 4));
  sum = _mm512_add_epi16(sum, _mm512_bslli_epi128(sum, 8));
  // Adds the last sum of each 128 bits to all following elements.
  const __m512i last = _mm512_shuffle_epi8(sum, _mm512_set1_epi16(0x0f0e));
  const __m512i one = _mm512_maskz_shuffle_i64x2(0xfc, last, last, 0x90);
  const __m512i two = _mm512_maskz_shuffle_i64x2(0xf0, last, last, 0x40);
  const __m512i three = _mm512_maskz_shuffle_i64x2(0xc0, last, last, 0x00);
  return _mm512_add_epi16(_mm512_add_epi16(sum, one), _mm512_add_epi16(two, three));
}

// Sums DC from the raw bits after the signs: differences to the previous block of the component.
TUNDISH_INLINE void sum_dc(UnitValues& out, const UnitWork& work, const UnitShape& shape) {
  auto at = static_cast<unsigned>(out.values);
  const auto* raw = reinterpret_cast<const std::byte*>(work.raw);
  __m512i carried = _mm512_setzero_si512();
  for (int b = 0; b < shape.blocks(); b += 64) {
    const __m512i sizes =
        _mm512_maskz_mov_epi8(first_of_64(shape.blocks() - b), _mm512_load_si512(work.dc_size + b));
    alignas(64) std::uint8_t before[64];
    alignas(64) std::uint64_t eights[8];
    _mm512_store_si512(before, sums_before(sizes));
    _mm512_store_si512(eights, _mm512_sad_epu8(sizes, _mm512_setzero_si512()));
    for (int h = 0; h < 2; ++h) {
      __m256i two[2];
      for (int k = 0; k < 2; ++k) {
        const int group = 2 * h + k;
        two[k] = _mm512_cvtepi32_epi16(dc_differences(
            raw, at, _mm_load_si128(reinterpret_cast<const __m128i*>(work.dc_size + b) + group),
            _mm_load_si128(reinterpret_cast<const __m128i*>(before) + group)));
        at += static_cast<unsigned>(eights[2 * group] + eights[2 * group + 1]);
      }
      const __m512i sum = _mm512_add_epi16(
          running_sums(_mm512_inserti64x4(_mm512_castsi256_si512(two[0]), two[1], 1)), carried);
      _mm512_store_si512(out.dc + b + 32 * h, sum);
      carried = _mm512_permutexvar_epi16(_mm512_set1_epi16(31), sum);
    }
  }
  for (int c = kMaxComponents - 1; c > 0; --c) {
    const int begin = shape.end[c - 1];
    const auto first = static_cast<std::uint16_t>(out.dc[begin - 1]);
    for (int b = begin; b < shape.end[c]; ++b) {
      out.dc[b] = static_cast<std::int16_t>(static_cast<std::uint16_t>(out.dc[b]) - first);
    }
  }
}

TUNDISH_INLINE bool finish(UnitValues& out, UnitWork& work, Lanes& lanes, const UnitHead& head,
                           const UnitShape& shape) {
  find_escapes(out, work);
  for (int i = 0; i < out.escapes; i += kLanes) {
    const std::uint32_t active = first_of_32(out.escapes - i);
    for (int h = 0; h < 2; ++h) {
      _mm512_store_si512(work.high + i + 16 * h,
                         lanes.bits(h, set1(kEscapeBits), half_of(active, h)));
    }
    lanes.stay_inside();
  }
  if (lanes.word != lanes.end) return false;
  BitWriter bits{work.raw};
  put_states(bits, lanes);
  const int needed = out.values + count_dc_bits(work, shape.blocks());
  if (!append_raw(work, bits, head, needed)) return false;
  finish_escapes_together(out, work);
  sum_dc(out, work, shape);
  for (int i = 0; i < out.values; i += 64) {
    const __m512i magnitude = _mm512_load_si512(out.value + i);
    _mm512_store_si512(out.value + i, _mm512_mask_sub_epi8(magnitude, work.raw[i / 64],
                                                           _mm512_setzero_si512(), magnitude));
  }
  return true;
}

}  // namespace
}  // namespace tundish::lanes
