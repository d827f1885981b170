// 32 lanes in four registers of 8; one unit, or two in step. Tables are read with plain loads:
// they are as fast as the gather instruction where that is fast, and much faster where it is not.
#include <immintrin.h>

#include "lanes/decode_unit_parts.h"
#include "lanes/mask_tables.h"

namespace tundish::lanes {
namespace {

constexpr int kRegisters = kMaxBlocks / 32;  // of one byte per block
constexpr int kQuarters = 4;                 // registers of eight lanes

TUNDISH_INLINE __m256i set1(std::uint32_t value) {
  return _mm256_set1_epi32(static_cast<int>(value));
}
TUNDISH_INLINE __m256i load_256(const void* from) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}
TUNDISH_INLINE void store_256(void* to, __m256i value) {
  _mm256_storeu_si256(static_cast<__m256i*>(to), value);
}

// One byte of each of the 32 words, in order.
template <int kByte>
TUNDISH_INLINE __m256i bytes_of(const __m256i (&words)[kQuarters]) {
  const auto pick = [&](int place) {
    alignas(32) std::int8_t index[32];
    for (int i = 0; i < 32; ++i) {
      index[i] = static_cast<std::int8_t>(i % 16 / 4 == place ? 4 * (i % 4) + kByte : -128);
    }
    return _mm256_load_si256(reinterpret_cast<const __m256i*>(index));
  };
  // In each 128 bits: four bytes of the first register, four of the second, ...
  __m256i mixed = _mm256_shuffle_epi8(words[0], pick(0));
  for (int q = 1; q < kQuarters; ++q) {
    mixed = _mm256_or_si256(mixed, _mm256_shuffle_epi8(words[q], pick(q)));
  }
  return _mm256_permutevar8x32_epi32(mixed, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

// All ones in the lanes 8 * quarter + i < count.
TUNDISH_INLINE __m256i first_lanes(int count, int quarter) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(count - 8 * quarter),
                            _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

struct Lanes {
  __m256i x[kQuarters];
  __m256i low;  // a lane below it takes a word
  const std::byte* word;
  const std::byte* end;

  // Lanes that fell below 2^15 take the next words, in their order.
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

  // Once per step of 32 lanes, so that no read goes far behind the unit. A unit that took too
  // many words stays behind its end, which shows at the end.
  TUNDISH_INLINE void stay_inside() {
    if (__builtin_expect(word > end, 0)) word = end + 2;
  }

  // `count` bits of every active lane.
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

  // One symbol in each of the first `count` lanes; `table` holds which table each lane reads.
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

  // The low eight bits of one value code in each of the first `count` lanes, under the 32
  // parameters at `rice`.
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
      // The exponent of a float is the place of its only one, plus 127.
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

// 1 for the blocks from `luma` on.
TUNDISH_INLINE __m256i chroma_of(int from, int luma) {
  const __m256i places =
      _mm256_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                       22, 23, 24, 25, 26, 27, 28, 29, 30, 31);
  const int first = luma - from < 0 ? 0 : luma - from > 32 ? 32 : luma - from;
  const __m256i before = _mm256_cmpgt_epi8(_mm256_set1_epi8(static_cast<char>(first)), places);
  return _mm256_add_epi8(before, _mm256_set1_epi8(1));
}

// Size of DC and number of octets of 32 blocks from `from` on.
TUNDISH_INLINE void read_starts(UnitWork& work, std::uint8_t* octets, Lanes& lanes, int from,
                                const CodedUnit& unit, const Tables& tables) {
  const UnitShape& shape = unit.shape;
  const int count = shape.blocks() - from < 32 ? shape.blocks() - from : 32;
  if (count <= 0) return;
  alignas(32) std::uint8_t table[32];
  store_256(table, chroma_of(from, shape.luma()));
  const __m256i behind =  // all ones behind the last block
      _mm256_sub_epi8(_mm256_setzero_si256(), chroma_of(from, shape.blocks()));
  const __m256i start = _mm256_andnot_si256(
      behind, lanes.symbols<false>(tables.entry[start_table(unit.set, false)], table, count));
  const __m256i low = _mm256_set1_epi8(15);
  store_256(octets + from,
            _mm256_min_epu8(_mm256_and_si256(start, low), _mm256_set1_epi8(kOctets)));
  store_256(work.dc_size + from, _mm256_and_si256(_mm256_srli_epi16(start, 4), low));
}

// The context of the next octet.
TUNDISH_INLINE __m256i context_after(__m256i mask) {
  const __m256i ones =
      _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
  const __m256i low = _mm256_set1_epi8(15);
  const __m256i count =
      _mm256_add_epi8(_mm256_shuffle_epi8(ones, _mm256_and_si256(mask, low)),
                      _mm256_shuffle_epi8(ones, _mm256_and_si256(_mm256_srli_epi16(mask, 4), low)));
  const __m256i none = _mm256_cmpeq_epi8(mask, _mm256_setzero_si256());
  return _mm256_or_si256(_mm256_min_epu8(count, _mm256_set1_epi8(7)),
                         _mm256_and_si256(none, _mm256_set1_epi8(8)));
}

// Bytes of `values` where `mask` has ones, in order without gaps; returns their end.
TUNDISH_INLINE std::uint8_t* compress(std::uint8_t* to, __m256i values, std::uint32_t mask) {
  for (int i = 0; i < 4; ++i) {
    const unsigned part = mask >> (8 * i) & 255;
    const __m128i half =
        i < 2 ? _mm256_castsi256_si128(values) : _mm256_extracti128_si256(values, 1);
    const __m128i eight = i % 2 == 0 ? half : _mm_srli_si128(half, 8);
    const __m128i index = _mm_cvtsi64_si128(static_cast<long long>(kMasks.compress[part]));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_shuffle_epi8(eight, index));
    to += __builtin_popcount(part);
  }
  return to;
}

// The reverse; zeros elsewhere.
TUNDISH_INLINE __m256i expand(const std::uint8_t*& from, std::uint32_t mask) {
  __m128i eight[4];
  for (int i = 0; i < 4; ++i) {
    const unsigned part = mask >> (8 * i) & 255;
    const __m128i index = _mm_cvtsi64_si128(static_cast<long long>(kMasks.expand[part]));
    eight[i] = _mm_shuffle_epi8(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)), index);
    from += __builtin_popcount(part);
  }
  return _mm256_set_m128i(_mm_unpacklo_epi64(eight[2], eight[3]),
                          _mm_unpacklo_epi64(eight[0], eight[1]));
}

// Eight bytes of each block, one from each row of `octet`, become its mask.
TUNDISH_INLINE void store_masks(std::uint64_t* out, const UnitWork& work, int blocks) {
  for (int b = 0; b < blocks; b += 16) {
    __m128i row[kOctets];
    for (int o = 0; o < kOctets; ++o) {
      row[o] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(work.octet[o] + b));
    }
    row[0] = _mm_and_si128(row[0], _mm_set1_epi8(static_cast<char>(0xfe)));
    for (int h = 0; h < 2; ++h) {
      const auto pair = [&](int o) {
        return h == 0 ? _mm_unpacklo_epi8(row[o], row[o + 1])
                      : _mm_unpackhi_epi8(row[o], row[o + 1]);
      };
      const __m128i p[4] = {pair(0), pair(2), pair(4), pair(6)};
      const __m128i low[2] = {_mm_unpacklo_epi16(p[0], p[1]), _mm_unpackhi_epi16(p[0], p[1])};
      const __m128i high[2] = {_mm_unpacklo_epi16(p[2], p[3]), _mm_unpackhi_epi16(p[2], p[3])};
      auto* to = reinterpret_cast<__m128i*>(out + b + 8 * h);
      for (int i = 0; i < 2; ++i) {
        _mm_store_si128(to + 2 * i, _mm_unpacklo_epi32(low[i], high[i]));
        _mm_store_si128(to + 2 * i + 1, _mm_unpackhi_epi32(low[i], high[i]));
      }
    }
  }
}

template <bool kAll>
TUNDISH_INLINE void read_values(UnitValues& out, UnitWork& work, Lanes& lanes, int from,
                                int count) {
  const __m256i code = lanes.values<kAll>(work.rice + from, count);
  const __m256i least = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(kRiceEscape[0], kRiceEscape[1], kRiceEscape[2], kRiceEscape[3], kRiceEscape[4],
                    kRiceEscape[5], kRiceEscape[6], kRiceEscape[7], 0, 0, 0, 0, 0, 0, 0, 0));
  const __m256i bound = _mm256_shuffle_epi8(least, load_256(work.rice + from));
  const __m256i escaped = _mm256_cmpeq_epi8(_mm256_max_epu8(code, bound), code);
  auto mask = static_cast<std::uint32_t>(_mm256_movemask_epi8(escaped));
  if (!kAll) mask &= (1u << count) - 1;
  work.escaped[from / kLanes] = mask;
  store_256(out.value + from, _mm256_add_epi8(code, _mm256_set1_epi8(1)));
}

TUNDISH_INLINE void find_escapes(UnitValues& out, UnitWork& work) {
  std::uint16_t* to = work.position;
  work.escaped[(out.values + kLanes - 1) / kLanes] = 0;
  for (int i = 0; i < out.values; i += 64) {
    std::uint64_t escaped;
    std::memcpy(&escaped, work.escaped + i / kLanes, sizeof escaped);
    const int count = __builtin_popcountll(escaped);
    // Two without a branch: more are rare.
    const std::uint64_t second = _blsr_u64(escaped);
    to[0] = static_cast<std::uint16_t>(i + static_cast<int>(_tzcnt_u64(escaped)));
    to[1] = static_cast<std::uint16_t>(i + static_cast<int>(_tzcnt_u64(second)));
    if (__builtin_expect(count > 2, 0)) {
      std::uint64_t left = _blsr_u64(second);
      for (int k = 2; k < count; ++k, left = _blsr_u64(left)) {
        to[k] = static_cast<std::uint16_t>(i + static_cast<int>(_tzcnt_u64(left)));
      }
    }
    to += count;
  }
  out.escapes = static_cast<int>(to - work.position);
}

TUNDISH_INLINE bool finish(UnitValues& out, UnitWork& work, Lanes& lanes, const UnitHead& head,
                           const UnitShape& shape) {
  find_escapes(out, work);
  for (int i = 0; i < out.escapes; i += kLanes) {
    for (int q = 0; q < kQuarters; ++q) {
      const __m256i active = first_lanes(out.escapes - i, q);
      store_256(work.high + i + 8 * q, lanes.bits(q, set1(kEscapeBits), active));
    }
    lanes.stay_inside();
  }
  if (lanes.word != lanes.end) return false;
  BitWriter bits{work.raw};
  alignas(32) std::uint32_t state[kLanes];
  for (int q = 0; q < kQuarters; ++q) store_256(state + 8 * q, lanes.x[q]);
  for (const std::uint32_t x : state) {
    const int count = 31 - __builtin_clz(x | 1);
    bits.put(x & ((1u << count) - 1), count);
  }
  const int needed = out.values + count_dc_bits(work, shape.blocks());
  if (!append_raw(work, bits, head, needed)) return false;
  finish_escapes(out, work);
  read_dc(out, work, shape);
  const __m256i byte_of = _mm256_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2,
                                           2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3);
  const __m256i bit = _mm256_set1_epi64x(static_cast<long long>(0x8040201008040201));
  for (int i = 0; i < out.values; i += 32) {
    const auto signs = static_cast<std::uint32_t>(work.raw[i / 64] >> (i % 64));
    const __m256i spread = _mm256_shuffle_epi8(set1(signs), byte_of);
    const __m256i negative = _mm256_cmpeq_epi8(_mm256_and_si256(spread, bit), bit);
    const __m256i magnitude = load_256(out.value + i);
    store_256(out.value + i, _mm256_sub_epi8(_mm256_xor_si256(magnitude, negative), negative));
  }
  return true;
}

template <int kUnits>
TUNDISH_INLINE unsigned decode(UnitValues* const* out, const CodedUnit* units,
                               const UnitHead* heads, const Tables& tables, UnitWork* works) {
  Lanes lanes[kUnits];
  int most_blocks = 0;
  for (int u = 0; u < kUnits; ++u) {
    for (int q = 0; q < kQuarters; ++q) lanes[u].x[q] = load_256(heads[u].state + 8 * q);
    lanes[u].low = set1(heads[u].narrow ? 0 : kLowState);
    lanes[u].word = heads[u].words;
    lanes[u].end = heads[u].words_end;
    const int blocks = units[u].shape.blocks();
    most_blocks = blocks > most_blocks ? blocks : most_blocks;
  }

  alignas(32) std::uint8_t octets[kUnits][kMaxBlocks] = {}, context[kUnits][kMaxBlocks] = {};
  for (int from = 0; from < most_blocks; from += kLanes) {
    for (int u = 0; u < kUnits; ++u) {
      read_starts(works[u], octets[u], lanes[u], from, units[u], tables);
    }
  }
  for (int octet = kOctets - 1; octet >= 0; --octet) {
    std::uint32_t has[kUnits][kRegisters];
    int counts[kUnits], most = 0;
    for (int u = 0; u < kUnits; ++u) {
      const auto row = [&](int c) {
        return _mm256_broadcastsi128_si256(_mm_load_si128(
            reinterpret_cast<const __m128i*>(tables.set[units[u].set].mask_table[c][octet])));
      };
      const __m256i luma_row = row(0), chroma_row = row(1);
      std::uint8_t* to = works[u].dense;
      for (int j = 0; 32 * j < units[u].shape.blocks(); ++j) {
        const __m256i it = _mm256_cmpgt_epi8(load_256(octets[u] + 32 * j),
                                             _mm256_set1_epi8(static_cast<char>(octet)));
        has[u][j] = static_cast<std::uint32_t>(_mm256_movemask_epi8(it));
        const __m256i above = load_256(context[u] + 32 * j);
        const __m256i chroma =
            _mm256_sub_epi8(_mm256_setzero_si256(), chroma_of(32 * j, units[u].shape.luma()));
        const __m256i table = _mm256_blendv_epi8(_mm256_shuffle_epi8(luma_row, above),
                                                 _mm256_shuffle_epi8(chroma_row, above), chroma);
        to = compress(to, table, has[u][j]);
      }
      counts[u] = static_cast<int>(to - works[u].dense);
      store_256(to, _mm256_setzero_si256());
      most = counts[u] > most ? counts[u] : most;
    }
    for (int i = 0; i < most; i += kLanes) {
      for (int u = 0; u < kUnits; ++u) {
        std::uint8_t* place = works[u].dense + i;
        const int count = counts[u] - i;
        if (count >= kLanes) {
          store_256(place, lanes[u].template symbols<true>(tables.entry[0], place, kLanes));
        } else if (count > 0) {
          store_256(place, lanes[u].template symbols<false>(tables.entry[0], place, count));
        }
      }
    }
    for (int u = 0; u < kUnits; ++u) {
      const std::uint8_t* from = works[u].dense;
      for (int j = 0; 32 * j < units[u].shape.blocks(); ++j) {
        const __m256i mask = expand(from, has[u][j]);
        store_256(works[u].octet[octet] + 32 * j, mask);
        const __m256i it = _mm256_cmpgt_epi8(load_256(octets[u] + 32 * j),
                                             _mm256_set1_epi8(static_cast<char>(octet)));
        store_256(context[u] + 32 * j, _mm256_and_si256(it, context_after(mask)));
      }
    }
  }

  int fewest_values = kMaxValues;
  for (int u = 0; u < kUnits; ++u) {
    store_masks(out[u]->mask, works[u], units[u].shape.blocks());
    lay_out_values(*out[u], works[u], units[u].shape, tables.set[units[u].set]);
    fewest_values = out[u]->values < fewest_values ? out[u]->values : fewest_values;
  }
  int from = 0;
  for (; from + kLanes <= fewest_values; from += kLanes) {
    for (int u = 0; u < kUnits; ++u) read_values<true>(*out[u], works[u], lanes[u], from, kLanes);
  }
  unsigned good = 0;
  for (int u = 0; u < kUnits; ++u) {
    int i = from;
    for (; i + kLanes <= out[u]->values; i += kLanes) {
      read_values<true>(*out[u], works[u], lanes[u], i, kLanes);
    }
    if (i < out[u]->values) {
      read_values<false>(*out[u], works[u], lanes[u], i, out[u]->values - i);
    }
    if (finish(*out[u], works[u], lanes[u], heads[u], units[u].shape)) good |= 1u << u;
  }
  return good;
}

}  // namespace

unsigned decode_units_avx2(UnitValues* const* out, const CodedUnit* units, int count,
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
