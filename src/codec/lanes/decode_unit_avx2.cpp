// Decodes one unit, or two in step, with AVX2.
#include "codec/lanes/decode_unit_lanes_avx2.h"

namespace tundish::lanes {
namespace {

constexpr int kRegisters = kMaxBlocks / 32;  // one byte per block

// Returns 1 for the blocks from `luma` on.
TUNDISH_INLINE __m256i chroma_of(int from, int luma) {
  const __m256i places =
      _mm256_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                       22, 23, 24, 25, 26, 27, 28, 29, 30, 31);
  const int first = luma - from < 0 ? 0 : luma - from > 32 ? 32 : luma - from;
  const __m256i before = _mm256_cmpgt_epi8(_mm256_set1_epi8(static_cast<char>(first)), places);
  return _mm256_add_epi8(before, _mm256_set1_epi8(1));
}

// Reads DC sizes and octet counts of 32 blocks from `from` on.
TUNDISH_INLINE void read_starts(UnitWork& work, std::uint8_t* octets, Lanes& lanes, int from,
                                const CodedUnit& unit, const Tables& tables) {
  const UnitShape& shape = unit.shape;
  const int count = shape.blocks() - from < 32 ? shape.blocks() - from : 32;
  if (count <= 0) return;
  alignas(32) std::uint8_t table[32];
  store_256(table, chroma_of(from, shape.luma()));
  const __m256i behind =  // all ones after the last block
      _mm256_sub_epi8(_mm256_setzero_si256(), chroma_of(from, shape.blocks()));
  const __m256i start = _mm256_andnot_si256(
      behind, lanes.symbols<false>(tables.entry[start_table(unit.set, false)], table, count));
  const __m256i low = _mm256_set1_epi8(15);
  store_256(octets + from,
            _mm256_min_epu8(_mm256_and_si256(start, low), _mm256_set1_epi8(kOctets)));
  store_256(work.dc_size + from, _mm256_and_si256(_mm256_srli_epi16(start, 4), low));
}

// Returns the context of the next octet.
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

// Writes the bytes of `values` selected by `mask`, in order without gaps; returns their end.
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

// The inverse of compress(); zeros elsewhere.
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

// Combines eight bytes of each block, one from each row of `octet`, into the block's mask.
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
    // Stores two without a branch: more are rare.
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

// The masks of a unit's blocks while they are read, from the last octet to the first.
struct Masks {
  alignas(32) std::uint8_t octets[kMaxBlocks] = {}, context[kMaxBlocks] = {};
  std::uint32_t has[kRegisters];
  int count;  // number of blocks that have this octet

  // Returns all ones for the blocks that have the octet.
  TUNDISH_INLINE __m256i having(int j, int octet) const {
    return _mm256_cmpgt_epi8(load_256(octets + 32 * j), _mm256_set1_epi8(static_cast<char>(octet)));
  }

  // Collects the table of each block that has the octet, in order without gaps.
  TUNDISH_INLINE void gather_tables(std::uint8_t* dense, int octet, const UnitShape& shape,
                                    const TableSet& set) {
    const auto row = [&](int c) {
      return _mm256_broadcastsi128_si256(
          _mm_load_si128(reinterpret_cast<const __m128i*>(set.mask_table[c][octet])));
    };
    const __m256i luma_row = row(0), chroma_row = row(1);
    std::uint8_t* to = dense;
    for (int j = 0; 32 * j < shape.blocks(); ++j) {
      has[j] = static_cast<std::uint32_t>(_mm256_movemask_epi8(having(j, octet)));
      const __m256i above = load_256(context + 32 * j);
      const __m256i chroma =
          _mm256_sub_epi8(_mm256_setzero_si256(), chroma_of(32 * j, shape.luma()));
      const __m256i table = _mm256_blendv_epi8(_mm256_shuffle_epi8(luma_row, above),
                                               _mm256_shuffle_epi8(chroma_row, above), chroma);
      to = compress(to, table, has[j]);
    }
    count = static_cast<int>(to - dense);
    store_256(to, _mm256_setzero_si256());
  }

  // Moves the octets back to their blocks; they are the context of the next octet.
  TUNDISH_INLINE void spread(std::uint8_t* out, const std::uint8_t* dense, int octet, int blocks) {
    for (int j = 0; 32 * j < blocks; ++j) {
      const __m256i mask = expand(dense, has[j]);
      store_256(out + 32 * j, mask);
      store_256(context + 32 * j, _mm256_and_si256(having(j, octet), context_after(mask)));
    }
  }
};

// Reads DC sizes and masks, all units in step.
template <int kUnits>
TUNDISH_INLINE void read_masks(UnitWork* works, Lanes (&lanes)[kUnits], const CodedUnit* units,
                               const Tables& tables) {
  int most_blocks = 0;
  for (int u = 0; u < kUnits; ++u) {
    const int blocks = units[u].shape.blocks();
    most_blocks = blocks > most_blocks ? blocks : most_blocks;
  }
  Masks masks[kUnits];
  for (int from = 0; from < most_blocks; from += kLanes) {
    for (int u = 0; u < kUnits; ++u) {
      read_starts(works[u], masks[u].octets, lanes[u], from, units[u], tables);
    }
  }
  for (int octet = kOctets - 1; octet >= 0; --octet) {
    int most = 0;
    for (int u = 0; u < kUnits; ++u) {
      masks[u].gather_tables(works[u].dense, octet, units[u].shape, tables.set[units[u].set]);
      most = masks[u].count > most ? masks[u].count : most;
    }
    for (int i = 0; i < most; i += kLanes) {
      for (int u = 0; u < kUnits; ++u) {
        std::uint8_t* place = works[u].dense + i;
        const int count = masks[u].count - i;
        if (count >= kLanes) {
          store_256(place, lanes[u].template symbols<true>(tables.entry[0], place, kLanes));
        } else if (count > 0) {
          store_256(place, lanes[u].template symbols<false>(tables.entry[0], place, count));
        }
      }
    }
    for (int u = 0; u < kUnits; ++u) {
      masks[u].spread(works[u].octet[octet], works[u].dense, octet, units[u].shape.blocks());
    }
  }
}

template <int kUnits>
TUNDISH_INLINE unsigned decode(UnitValues* const* out, const CodedUnit* units,
                               const UnitHead* heads, const Tables& tables, UnitWork* works) {
  Lanes lanes[kUnits];
  for (int u = 0; u < kUnits; ++u) {
    for (int q = 0; q < kQuarters; ++q) lanes[u].x[q] = load_256(heads[u].state + 8 * q);
    lanes[u].low = set1(heads[u].narrow ? 0 : kLowState);
    lanes[u].word = heads[u].words;
    lanes[u].end = heads[u].words_end;
  }
  read_masks(works, lanes, units, tables);

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
