// The passes with SSE4.1. Taps are processed in pairs, see augment/cpu/passes_pairs.h.
#include <smmintrin.h>

#include "augment/cpu/passes_pairs.h"

namespace tundish {
namespace {

constexpr int kBits = 22;
constexpr int kRounding = 1 << (kBits - 1);

struct TableX {
  int outputs;
  int steps;         // groups of four taps per output
  const int* place;  // byte offset of each output's inputs
  const Pair* pair;  // two per output and step
};

int steps_of(const TapsView& taps) { return (taps.count + 3) / 4; }

std::size_t table_x_bytes(const TapsView& taps) {
  const auto outputs = static_cast<std::size_t>(taps.outputs);
  return 64 + (4 * outputs + 63) / 64 * 64 +
         2 * sizeof(Pair) * outputs * static_cast<std::size_t>(steps_of(taps));
}

void make_table_x(void* memory, const TapsView& taps) {
  auto& table = *static_cast<TableX*>(memory);
  int* place = reinterpret_cast<int*>(static_cast<std::uint8_t*>(memory) + 64);
  auto* pair = reinterpret_cast<Pair*>(reinterpret_cast<std::uint8_t*>(place) +
                                       (4 * static_cast<std::size_t>(taps.outputs) + 63) / 64 * 64);
  table = {taps.outputs, steps_of(taps), place, pair};
  for (int i = 0; i < taps.outputs; ++i) {
    const std::int32_t* weight = taps.weight + std::ptrdiff_t{i} * taps.count;
    place[i] = 3 * taps.first[i];
    for (int k = 0; k < 4 * table.steps; k += 2, ++pair) {
      *pair = make_pair(k < taps.count ? weight[k] : 0, k + 1 < taps.count ? weight[k + 1] : 0);
    }
  }
}

__m128i load128(const void* from) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); }

struct Sum {
  __m128i high = _mm_setzero_si128(), low = _mm_set1_epi32(kRounding);

  void add(__m128i levels, __m128i weight_high, __m128i weight_low) {
    high = _mm_add_epi32(high, _mm_madd_epi16(levels, weight_high));
    low = _mm_add_epi32(low, _mm_madd_epi16(levels, weight_low));
  }
  __m128i level() const {
    return _mm_srai_epi32(_mm_add_epi32(_mm_slli_epi32(high, 11), low), kBits);
  }
};

void pass_x(std::uint8_t* slot, const std::uint8_t* const* row, const void* memory) {
  const auto& table = *static_cast<const TableX*>(memory);
  // (red 0, red 1, green 0, green 1, blue 0, blue 1) of pixels 0 and 1, then of pixels 2 and 3
  const __m128i first_two = _mm_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1);
  const __m128i next_two =
      _mm_setr_epi8(6, -1, 9, -1, 7, -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1);
  const __m128i by_sample = _mm_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, -1, -1, -1, -1);
  const Pair* pair = table.pair;
  for (int i = 0; i < table.outputs; ++i, slot += 12) {
    Sum upper, lower;
    for (int s = 0; s < table.steps; ++s, pair += 2) {
      const __m128i x = load128(row[0] + table.place[i] + 12 * s);
      const __m128i y = load128(row[1] + table.place[i] + 12 * s);
      const __m128i weights = load128(pair);
      const __m128i high = _mm_shuffle_epi32(weights, 0x00), low = _mm_shuffle_epi32(weights, 0x55);
      upper.add(_mm_shuffle_epi8(x, first_two), high, low);
      lower.add(_mm_shuffle_epi8(y, first_two), high, low);
      const __m128i high2 = _mm_shuffle_epi32(weights, 0xaa);
      const __m128i low2 = _mm_shuffle_epi32(weights, 0xff);
      upper.add(_mm_shuffle_epi8(x, next_two), high2, low2);
      lower.add(_mm_shuffle_epi8(y, next_two), high2, low2);
    }
    // Holds three samples of the upper row, then three samples of the lower row.
    const __m128i levels =
        _mm_min_epu16(_mm_packus_epi32(upper.level(), lower.level()), _mm_set1_epi16(255));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(slot), _mm_shuffle_epi8(levels, by_sample));
  }
}

void pass_y(std::uint8_t* out, const SlotRing& ring, const void* memory, int output, int samples) {
  const auto& table = *static_cast<const PairTableY*>(memory);
  const Pair* pair = table.pair + std::ptrdiff_t{output} * table.stride;
  for (int i = 0; i < samples; i += 16, out += 16) {
    Sum sum[4];
    for (int s = 0; s < table.slots[output]; ++s) {
      const std::uint8_t* from =
          ring.memory +
          static_cast<std::size_t>((table.slot[output] + s) & (ring.slots - 1)) * ring.slot_bytes +
          4 * static_cast<std::size_t>(i);
      const __m128i high = _mm_set1_epi32(static_cast<int>(pair[s].high));
      const __m128i low = _mm_set1_epi32(static_cast<int>(pair[s].low));
      for (int v = 0; v < 4; ++v) sum[v].add(load128(from + 16 * v), high, low);
    }
    const __m128i ab = _mm_packs_epi32(sum[0].level(), sum[1].level());
    const __m128i cd = _mm_packs_epi32(sum[2].level(), sum[3].level());
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm_packus_epi16(ab, cd));
  }
}

}  // namespace

const Passes kPassesSse = {.rows = 2,
                           .bytes_per_sample = 4,
                           .row_slack = 32,
                           .table_x_bytes = table_x_bytes,
                           .make_table_x = make_table_x,
                           .table_y_bytes = pair_table_y_bytes,
                           .make_table_y = make_pair_table_y,
                           .pass_x = pass_x,
                           .pass_y = pass_y};

}  // namespace tundish
