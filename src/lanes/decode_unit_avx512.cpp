// 32 lanes in two registers of 16; one unit, or two in step.
#include <immintrin.h>

#include "lanes/decode_unit_parts.h"

namespace tundish::lanes {
namespace {

constexpr int kRegisters = kMaxBlocks / 64;  // of one byte per block

// The first n of 32.
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

// Byte i is first + step * i.
constexpr Register count_up(int first, int step) {
  Register out = {};
  for (int i = 0; i < 64; ++i) out.byte[i] = static_cast<std::uint8_t>(first + step * i);
  return out;
}
constexpr Register kPlaces = count_up(0, 1);
constexpr Register kLowestBytes = count_up(0, 4);  // of the words of two registers
constexpr Register kHighestBytes = count_up(3, 4);

// entries[at] of 16 lanes with plain loads: faster than the gather instruction where it was
// measured, and much faster where that is slow.
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
  __m512i low;  // a lane below it takes a word
  const std::byte* word;
  const std::byte* end;

  // Lanes that fell below 2^15 take the next words, in their order.
  TUNDISH_INLINE void refill(int half, __mmask16 active) {
    const __mmask16 empty = _mm512_mask_cmplt_epu32_mask(active, x[half], low);
    const __m512i words =
        _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(word)));
    x[half] = _mm512_mask_or_epi32(x[half], empty, _mm512_slli_epi32(x[half], 16),
                                   _mm512_maskz_expand_epi32(empty, words));
    word += 2 * __builtin_popcount(empty);
  }

  // Once per step of 32 lanes, so that no read goes far behind the unit. A unit that took too
  // many words stays behind its end, which shows at the end.
  TUNDISH_INLINE void stay_inside() {
    if (__builtin_expect(word > end, 0)) word = end + 2;
  }

  // `count` bits of every active lane.
  TUNDISH_INLINE __m512i bits(int half, __m512i count, __mmask16 active) {
    const __m512i above = _mm512_sllv_epi32(_mm512_set1_epi32(-1), count);
    const __m512i out = _mm512_andnot_si512(above, x[half]);
    x[half] = _mm512_mask_srlv_epi32(x[half], active, x[half], count);
    refill(half, active);
    return out;
  }

  // One symbol per active lane; `table` holds where each lane's table starts in `entries`.
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

  // The low eight bits of one value code per active lane, under the 32 parameters at `rice`.
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

// Size of DC and number of octets of 32 blocks from `from` on.
TUNDISH_INLINE void read_starts(UnitWork& work, std::uint8_t* octets, Lanes& lanes, int from,
                                const CodedUnit& unit, const Tables& tables) {
  const UnitShape& shape = unit.shape;
  const std::uint32_t active = first_of_32(shape.blocks() - from);
  const std::uint32_t chroma = ~first_of_32(shape.luma() - from);
  const __m512i table[2] = {_mm512_maskz_set1_epi32(half_of(chroma, 0), kTableSize),
                            _mm512_maskz_set1_epi32(half_of(chroma, 1), kTableSize)};
  const __m256i start = _mm256_maskz_mov_epi8(
      active, lanes.symbols(tables.entry[start_table(unit.set, false)], table, active));
  const __m256i low = _mm256_set1_epi8(15);
  _mm256_store_si256(reinterpret_cast<__m256i*>(octets + from),
                     _mm256_min_epu8(_mm256_and_si256(start, low), _mm256_set1_epi8(kOctets)));
  _mm256_store_si256(reinterpret_cast<__m256i*>(work.dc_size + from),
                     _mm256_and_si256(_mm256_srli_epi16(start, 4), low));
}

// Eight bytes of each block, one from each row of `octet`, become its mask.
TUNDISH_INLINE void store_masks(std::uint64_t* out, const UnitWork& work, int blocks) {
  for (int j = 0; 64 * j < blocks; ++j) {
    __m512i pairs[8];
    for (int k = 0; k < 4; ++k) {
      __m512i even = _mm512_load_si512(work.octet[2 * k] + 64 * j);
      if (k == 0) even = _mm512_and_si512(even, _mm512_set1_epi8(static_cast<char>(0xfe)));
      const __m512i odd = _mm512_load_si512(work.octet[2 * k + 1] + 64 * j);
      pairs[k] = _mm512_unpacklo_epi8(even, odd);
      pairs[k + 4] = _mm512_unpackhi_epi8(even, odd);
    }
    for (int h = 0; h < 2; ++h) {
      const __m512i* p = pairs + 4 * h;
      const __m512i a = _mm512_unpacklo_epi16(p[0], p[1]);
      const __m512i b = _mm512_unpackhi_epi16(p[0], p[1]);
      const __m512i c = _mm512_unpacklo_epi16(p[2], p[3]);
      const __m512i d = _mm512_unpackhi_epi16(p[2], p[3]);
      const __m512i two[4] = {_mm512_unpacklo_epi32(a, c), _mm512_unpackhi_epi32(a, c),
                              _mm512_unpacklo_epi32(b, d), _mm512_unpackhi_epi32(b, d)};
      for (int k = 0; k < 4; ++k) {
        auto* to = reinterpret_cast<__m128i*>(out + 64 * j + 8 * h + 2 * k);
        _mm_store_si128(to, _mm512_castsi512_si128(two[k]));
        _mm_store_si128(to + 8, _mm512_extracti32x4_epi32(two[k], 1));
        _mm_store_si128(to + 16, _mm512_extracti32x4_epi32(two[k], 2));
        _mm_store_si128(to + 24, _mm512_extracti32x4_epi32(two[k], 3));
      }
    }
  }
}

// Which of the code's 32 values are escapes, by their parameters.
TUNDISH_INLINE std::uint32_t escapes_of(__m256i code, const std::uint8_t* rice) {
  const __m256i least = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(kRiceEscape[0], kRiceEscape[1], kRiceEscape[2], kRiceEscape[3], kRiceEscape[4],
                    kRiceEscape[5], kRiceEscape[6], kRiceEscape[7], 0, 0, 0, 0, 0, 0, 0, 0));
  const __m256i k = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rice));
  return _mm256_cmpge_epu8_mask(code, _mm256_shuffle_epi8(least, k));
}

TUNDISH_INLINE void read_values(UnitValues& out, UnitWork& work, Lanes& lanes, int from,
                                std::uint32_t active) {
  const __m256i code = lanes.values(work.rice + from, active);
  work.escaped[from / kLanes] = escapes_of(code, work.rice + from) & active;
  _mm256_store_si256(reinterpret_cast<__m256i*>(out.value + from),
                     _mm256_add_epi8(code, _mm256_set1_epi8(1)));
}

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

// What is left of the states below their highest bit, two lanes at a time.
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

// Before the signs are put on: `value` holds magnitudes.
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

// Byte i of each 16 becomes the sum of the bytes before it.
TUNDISH_INLINE __m512i sums_before(__m512i bytes) {
  __m512i sum = _mm512_bslli_epi128(bytes, 1);
  sum = _mm512_add_epi8(sum, _mm512_bslli_epi128(sum, 1));
  sum = _mm512_add_epi8(sum, _mm512_bslli_epi128(sum, 2));
  sum = _mm512_add_epi8(sum, _mm512_bslli_epi128(sum, 4));
  return _mm512_add_epi8(sum, _mm512_bslli_epi128(sum, 8));
}

// 16 differences of DC whose bits are concatenated from bit `at` on.
TUNDISH_INLINE __m512i dc_differences(const std::byte* raw, unsigned at, __m128i sizes,
                                      __m128i bits_before) {
  const __m512i first =
      _mm512_add_epi32(_mm512_cvtepu8_epi32(bits_before), set1(at % 8));  // within `near`
  const __m512i bytes = _mm512_add_epi32(
      _mm512_mullo_epi32(_mm512_srli_epi32(first, 3), set1(0x01010101)), set1(0x03020100));
  const __m512i near = _mm512_loadu_si512(raw + at / 8);
  const __m512i all = _mm512_andnot_si512(
      _mm512_sllv_epi32(_mm512_set1_epi32(-1), _mm512_cvtepu8_epi32(sizes)), _mm512_set1_epi32(-1));
  const __m512i bits = _mm512_and_si512(
      _mm512_srlv_epi32(_mm512_permutexvar_epi8(bytes, near), _mm512_and_si512(first, set1(7))),
      all);
  const __mmask16 negative = _mm512_cmple_epu32_mask(bits, _mm512_srli_epi32(all, 1));
  return _mm512_mask_sub_epi32(bits, negative, bits, all);  // nothing when there are no bits
}

// Every element becomes the sum of those up to it.
TUNDISH_INLINE __m512i running_sums(__m512i words) {
  __m512i sum = _mm512_add_epi16(words, _mm512_bslli_epi128(words, 2));
  sum = _mm512_add_epi16(sum, _mm512_bslli_epi128(sum, 4));
  sum = _mm512_add_epi16(sum, _mm512_bslli_epi128(sum, 8));
  // The last sum of each 128 bits goes to all that follow.
  const __m512i last = _mm512_shuffle_epi8(sum, _mm512_set1_epi16(0x0f0e));
  const __m512i one = _mm512_maskz_shuffle_i64x2(0xfc, last, last, 0x90);
  const __m512i two = _mm512_maskz_shuffle_i64x2(0xf0, last, last, 0x40);
  const __m512i three = _mm512_maskz_shuffle_i64x2(0xc0, last, last, 0x00);
  return _mm512_add_epi16(_mm512_add_epi16(sum, one), _mm512_add_epi16(two, three));
}

// DC from the raw bits behind the signs, as differences to the block before in its component.
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

template <int kUnits>
TUNDISH_INLINE unsigned decode(UnitValues* const* out, const CodedUnit* units,
                               const UnitHead* heads, const Tables& tables, UnitWork* works) {
  Lanes lanes[kUnits];
  int most_blocks = 0;
  for (int u = 0; u < kUnits; ++u) {
    lanes[u] = {{_mm512_load_si512(heads[u].state), _mm512_load_si512(heads[u].state + 16)},
                set1(heads[u].narrow ? 0 : kLowState),
                heads[u].words,
                heads[u].words_end};
    most_blocks = std::max(most_blocks, units[u].shape.blocks());
  }

  alignas(64) std::uint8_t octet_counts[kUnits][kMaxBlocks] = {};
  for (int from = 0; from < most_blocks; from += kLanes) {
    for (int u = 0; u < kUnits; ++u) {
      read_starts(works[u], octet_counts[u], lanes[u], from, units[u], tables);
    }
  }

  __m512i octets[kUnits][kRegisters], context[kUnits][kRegisters];
  __mmask64 chroma[kUnits][kRegisters];
  for (int u = 0; u < kUnits; ++u) {
    for (int j = 0; j < kRegisters; ++j) {
      octets[u][j] = _mm512_load_si512(octet_counts[u] + 64 * j);
      context[u][j] = _mm512_setzero_si512();
      chroma[u][j] = ~first_of_64(units[u].shape.luma() - 64 * j);
    }
  }
  for (int octet = kOctets - 1; octet >= 0; --octet) {
    __mmask64 has[kUnits][kRegisters];
    int counts[kUnits], most = 0;
    for (int u = 0; u < kUnits; ++u) {
      const auto row = [&](int c) {
        return _mm512_broadcast_i32x4(_mm_load_si128(
            reinterpret_cast<const __m128i*>(tables.set[units[u].set].mask_table[c][octet])));
      };
      const __m512i luma_row = row(0), chroma_row = row(1);
      std::uint8_t* to = works[u].dense;
      for (int j = 0; j < kRegisters; ++j) {
        has[u][j] =
            _mm512_cmpgt_epu8_mask(octets[u][j], _mm512_set1_epi8(static_cast<char>(octet)));
        const __m512i luma_table = _mm512_shuffle_epi8(luma_row, context[u][j]);
        const __m512i table =
            _mm512_mask_shuffle_epi8(luma_table, chroma[u][j], chroma_row, context[u][j]);
        _mm512_storeu_si512(to, _mm512_maskz_compress_epi8(has[u][j], table));
        to += __builtin_popcountll(has[u][j]);
      }
      counts[u] = static_cast<int>(to - works[u].dense);
      most = std::max(most, counts[u]);
    }
    for (int i = 0; i < most; i += kLanes) {
      for (int u = 0; u < kUnits; ++u) {
        const std::uint32_t active = first_of_32(counts[u] - i);
        auto* place = reinterpret_cast<__m256i*>(works[u].dense + i);
        const __m256i number = _mm256_maskz_mov_epi8(active, _mm256_load_si256(place));
        const __m512i table[2] = {
            _mm512_slli_epi32(_mm512_cvtepu8_epi32(_mm256_castsi256_si128(number)), kTableBits),
            _mm512_slli_epi32(_mm512_cvtepu8_epi32(_mm256_extracti128_si256(number, 1)),
                              kTableBits)};
        _mm256_store_si256(place, lanes[u].symbols(tables.entry[0], table, active));
      }
    }
    for (int u = 0; u < kUnits; ++u) {
      const std::uint8_t* from = works[u].dense;
      for (int j = 0; j < kRegisters; ++j) {
        const __m512i mask = _mm512_maskz_expand_epi8(has[u][j], _mm512_loadu_si512(from));
        from += __builtin_popcountll(has[u][j]);
        _mm512_store_si512(works[u].octet[octet] + 64 * j, mask);
        const __m512i ones = _mm512_min_epu8(_mm512_popcnt_epi8(mask), _mm512_set1_epi8(7));
        const __mmask64 none = _mm512_mask_testn_epi8_mask(has[u][j], mask, mask);
        context[u][j] = _mm512_mask_mov_epi8(ones, none, _mm512_set1_epi8(8));
      }
    }
  }

  int fewest_values = kMaxValues;
  for (int u = 0; u < kUnits; ++u) {
    store_masks(out[u]->mask, works[u], units[u].shape.blocks());
    lay_out_values(*out[u], works[u], units[u].shape, tables.set[units[u].set]);
    fewest_values = std::min(fewest_values, out[u]->values);
  }
  int from = 0;
  for (; from + kLanes <= fewest_values; from += kLanes) {
    for (int u = 0; u < kUnits; ++u) read_values(*out[u], works[u], lanes[u], from, ~0u);
  }
  unsigned good = 0;
  for (int u = 0; u < kUnits; ++u) {
    for (int i = from; i < out[u]->values; i += kLanes) {
      read_values(*out[u], works[u], lanes[u], i, first_of_32(out[u]->values - i));
    }
    if (finish(*out[u], works[u], lanes[u], heads[u], units[u].shape)) good |= 1u << u;
  }
  return good;
}

}  // namespace

unsigned decode_units_avx512(UnitValues* const* out, const CodedUnit* units, int count,
                             const Tables& tables, UnitWork* works) {
  return one_or_two(
      out, units, count,
      [&](UnitValues* const* to, const CodedUnit* from, const UnitHead* heads) {
        return decode<1>(to, from, heads, tables, works);
      },
      [&](UnitValues* const* to, const CodedUnit* from, const UnitHead* heads) {
        return decode<2>(to, from, heads, tables, works);
      });
}

}  // namespace tundish::lanes
