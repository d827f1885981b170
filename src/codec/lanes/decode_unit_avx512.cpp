// Decodes one unit, or two in step, with AVX-512.
#include "codec/lanes/decode_unit_finish_avx512.h"

namespace tundish::lanes {
namespace {

constexpr int kRegisters = kMaxBlocks / 64;  // one byte per block

// Reads DC sizes and octet counts of 32 blocks from `from` on.
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

// Combines eight bytes of each block, one from each row of `octet`, into the block's mask.
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

// Returns which of 32 codes are escapes, given their parameters.
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

// The masks of a unit's blocks while they are read, from the last octet to the first.
struct Masks {
  __m512i octets[kRegisters], context[kRegisters];
  __mmask64 chroma[kRegisters], has[kRegisters];
  int count;  // number of blocks that have this octet

  TUNDISH_INLINE void start(const std::uint8_t* octet_counts, int luma) {
    for (int j = 0; j < kRegisters; ++j) {
      octets[j] = _mm512_load_si512(octet_counts + 64 * j);
      context[j] = _mm512_setzero_si512();
      chroma[j] = ~first_of_64(luma - 64 * j);
    }
  }

  // Collects the table of each block that has the octet, in order without gaps.
  TUNDISH_INLINE void gather_tables(std::uint8_t* dense, int octet, const TableSet& set) {
    const auto row = [&](int c) {
      return _mm512_broadcast_i32x4(
          _mm_load_si128(reinterpret_cast<const __m128i*>(set.mask_table[c][octet])));
    };
    const __m512i luma_row = row(0), chroma_row = row(1);
    std::uint8_t* to = dense;
    for (int j = 0; j < kRegisters; ++j) {
      has[j] = _mm512_cmpgt_epu8_mask(octets[j], _mm512_set1_epi8(static_cast<char>(octet)));
      const __m512i luma_table = _mm512_shuffle_epi8(luma_row, context[j]);
      const __m512i table = _mm512_mask_shuffle_epi8(luma_table, chroma[j], chroma_row, context[j]);
      _mm512_storeu_si512(to, _mm512_maskz_compress_epi8(has[j], table));
      to += __builtin_popcountll(has[j]);
    }
    count = static_cast<int>(to - dense);
  }

  // Moves the octets back to their blocks; they are the context of the next octet.
  TUNDISH_INLINE void spread(std::uint8_t* out, const std::uint8_t* dense) {
    for (int j = 0; j < kRegisters; ++j) {
      const __m512i mask = _mm512_maskz_expand_epi8(has[j], _mm512_loadu_si512(dense));
      dense += __builtin_popcountll(has[j]);
      _mm512_store_si512(out + 64 * j, mask);
      const __m512i ones = _mm512_min_epu8(_mm512_popcnt_epi8(mask), _mm512_set1_epi8(7));
      const __mmask64 none = _mm512_mask_testn_epi8_mask(has[j], mask, mask);
      context[j] = _mm512_mask_mov_epi8(ones, none, _mm512_set1_epi8(8));
    }
  }
};

// Reads one octet of each of the next 32 blocks, or of the remaining `count`. `dense` holds the
// tables before the call and the octets after it.
TUNDISH_INLINE void read_octets(std::uint8_t* dense, Lanes& lanes, int count,
                                const Entry* entries) {
  const std::uint32_t active = first_of_32(count);
  auto* place = reinterpret_cast<__m256i*>(dense);
  const __m256i number = _mm256_maskz_mov_epi8(active, _mm256_load_si256(place));
  const __m512i table[2] = {
      _mm512_slli_epi32(_mm512_cvtepu8_epi32(_mm256_castsi256_si128(number)), kTableBits),
      _mm512_slli_epi32(_mm512_cvtepu8_epi32(_mm256_extracti128_si256(number, 1)), kTableBits)};
  _mm256_store_si256(place, lanes.symbols(entries, table, active));
}

// Reads DC sizes and masks, all units in step.
template <int kUnits>
TUNDISH_INLINE void read_masks(UnitWork* works, Lanes (&lanes)[kUnits], const CodedUnit* units,
                               const Tables& tables) {
  int most_blocks = 0;
  for (int u = 0; u < kUnits; ++u) most_blocks = std::max(most_blocks, units[u].shape.blocks());
  alignas(64) std::uint8_t octet_counts[kUnits][kMaxBlocks] = {};
  for (int from = 0; from < most_blocks; from += kLanes) {
    for (int u = 0; u < kUnits; ++u) {
      read_starts(works[u], octet_counts[u], lanes[u], from, units[u], tables);
    }
  }

  Masks masks[kUnits];
  for (int u = 0; u < kUnits; ++u) masks[u].start(octet_counts[u], units[u].shape.luma());
  for (int octet = kOctets - 1; octet >= 0; --octet) {
    int most = 0;
    for (int u = 0; u < kUnits; ++u) {
      masks[u].gather_tables(works[u].dense, octet, tables.set[units[u].set]);
      most = std::max(most, masks[u].count);
    }
    for (int i = 0; i < most; i += kLanes) {
      for (int u = 0; u < kUnits; ++u) {
        read_octets(works[u].dense + i, lanes[u], masks[u].count - i, tables.entry[0]);
      }
    }
    for (int u = 0; u < kUnits; ++u) masks[u].spread(works[u].octet[octet], works[u].dense);
  }
}

template <int kUnits>
TUNDISH_INLINE unsigned decode(UnitValues* const* out, const CodedUnit* units,
                               const UnitHead* heads, const Tables& tables, UnitWork* works) {
  Lanes lanes[kUnits];
  for (int u = 0; u < kUnits; ++u) {
    lanes[u] = {{_mm512_load_si512(heads[u].state), _mm512_load_si512(heads[u].state + 16)},
                set1(heads[u].narrow ? 0 : kLowState),
                heads[u].words,
                heads[u].words_end};
  }
  read_masks(works, lanes, units, tables);

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
