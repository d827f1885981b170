// The passes with AVX2. Taps are processed in pairs, see augment/cpu/passes_pairs.h.
#include <immintrin.h>

#include "augment/cpu/passes_pairs.h"

namespace tundish {
namespace {

constexpr int kBits = 22;
constexpr int kRounding = 1 << (kBits - 1);

// Two variants. "Near" (scales up to about 3) computes eight samples at once; one load covers the
// two pixels that four samples belong to. "Far" (any scale) computes two pixels at once, each from
// a separate load for its three samples.
//
// "Samples" are bytes of interleaved RGB: sample s is channel s % 3 of pixel s / 3.
struct TableX {
  bool near;
  int groups;                 // groups of eight samples (near) or of two pixels (far)
  int pairs;                  // pairs of taps
  const int* place;           // byte offsets: two for each group
  const std::uint8_t* block;  // per group: 32 indices if `near`; then per pair of taps the
                              // weights' high and low halves, 32 bytes each
};

constexpr int kFarthest = 9;  // largest distance in bytes between neighbors in one load

bool is_near(const TapsView& taps) {
  for (int i = 0; i + 1 < taps.outputs; ++i) {
    const int apart = 3 * (taps.first[i + 1] - taps.first[i]);
    if (apart > kFarthest || -apart > kFarthest) return false;
  }
  return true;
}

int groups_of(const TapsView& taps, bool near) {
  return near ? (3 * taps.outputs + 7) / 8 : (taps.outputs + 1) / 2;
}
int pairs_of(const TapsView& taps) { return (taps.count + 1) / 2; }
std::size_t places_bytes(int groups) {
  return (8 * static_cast<std::size_t>(groups) + 63) / 64 * 64;
}

std::size_t table_x_bytes(const TapsView& taps) {
  const bool near = is_near(taps);
  const int groups = groups_of(taps, near);
  return 64 + places_bytes(groups) +
         static_cast<std::size_t>(groups) *
             static_cast<std::size_t>(32 * near + 64 * pairs_of(taps));
}

Pair pair_of(const TapsView& taps, int output, int k) {
  const std::int32_t* weight = taps.weight + std::ptrdiff_t{output} * taps.count;
  return make_pair(weight[2 * k], 2 * k + 1 < taps.count ? weight[2 * k + 1] : 0);
}

// Samples 8 g .. 8 g + 7. Samples past the last pixel repeat the last pixel.
void make_near_group(int* place, std::uint8_t* block, int pairs, const TapsView& taps, int g) {
  int pixel[8];
  for (int i = 0; i < 8; ++i) {
    const int p = (8 * g + i) / 3;
    pixel[i] = p < taps.outputs ? p : taps.outputs - 1;
  }
  for (int h = 0; h < 2; ++h) {
    const int left = 3 * taps.first[pixel[4 * h]], right = 3 * taps.first[pixel[4 * h + 3]];
    place[h] = left < right ? left : right;
  }
  for (int i = 0; i < 8; ++i, block += 4) {
    const int from = 3 * taps.first[pixel[i]] + (8 * g + i) % 3 - place[i / 4];
    block[0] = static_cast<std::uint8_t>(from);
    block[1] = block[3] = 0x80;
    block[2] = static_cast<std::uint8_t>(from + 3);
  }
  for (int k = 0; k < pairs; ++k, block += 64) {
    auto* high = reinterpret_cast<std::uint32_t*>(block);
    for (int i = 0; i < 8; ++i) {
      const Pair pair = pair_of(taps, pixel[i], k);
      high[i] = pair.high;
      high[8 + i] = pair.low;
    }
  }
}

// Two pixels of four elements each; the fourth element is unused. An odd last pixel is repeated.
void make_far_group(int* place, std::uint8_t* block, int pairs, const TapsView& taps, int g) {
  for (int h = 0; h < 2; ++h) {
    const int pixel = 2 * g + h < taps.outputs ? 2 * g + h : 2 * g;
    place[h] = 3 * taps.first[pixel];
    for (int k = 0; k < pairs; ++k) {
      const Pair pair = pair_of(taps, pixel, k);
      auto* to = reinterpret_cast<__m128i*>(block + 64 * k + 16 * h);
      _mm_store_si128(to, _mm_set1_epi32(static_cast<int>(pair.high)));
      _mm_store_si128(to + 2, _mm_set1_epi32(static_cast<int>(pair.low)));
    }
  }
}

void make_table_x(void* memory, const TapsView& taps) {
  auto& table = *static_cast<TableX*>(memory);
  const bool near = is_near(taps);
  const int groups = groups_of(taps, near), pairs = pairs_of(taps);
  int* place = reinterpret_cast<int*>(static_cast<std::uint8_t*>(memory) + 64);
  std::uint8_t* block = reinterpret_cast<std::uint8_t*>(place) + places_bytes(groups);
  table = {near, groups, pairs, place, block};
  for (int g = 0; g < groups; ++g, place += 2) {
    (near ? make_near_group : make_far_group)(place, block, pairs, taps, g);
    block += 32 * near + 64 * pairs;
  }
}

__m256i load256(const std::uint8_t* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}

struct Sum {
  __m256i high = _mm256_setzero_si256(), low = _mm256_set1_epi32(kRounding);

  void add(__m256i levels, __m256i weight_high, __m256i weight_low) {
    high = _mm256_add_epi32(high, _mm256_madd_epi16(levels, weight_high));
    low = _mm256_add_epi32(low, _mm256_madd_epi16(levels, weight_low));
  }
  __m256i level() const {
    return _mm256_srai_epi32(_mm256_add_epi32(_mm256_slli_epi32(high, 11), low), kBits);
  }
};

// Loads the bytes at two places of a row, one place per half of the register.
__m256i load_two(const std::uint8_t* row, const int* place) {
  const auto half = [&](int h) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(row + place[h]));
  };
  return _mm256_inserti128_si256(_mm256_castsi128_si256(half(0)), half(1), 1);
}

// Packs the sums of an upper and a lower row into 16-bit words, interleaved by sample.
__m256i two_rows(const Sum& upper, const Sum& lower) {
  const __m256i by_sample = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15));
  const __m256i words =
      _mm256_min_epu16(_mm256_packus_epi32(upper.level(), lower.level()), _mm256_set1_epi16(255));
  return _mm256_shuffle_epi8(words, by_sample);
}

// kPairs 0: use table.pairs. Fields are copied first because stores could alias the table.
template <int kPairs>
void pass_x_near(std::uint8_t* slot, const std::uint8_t* const* row, const TableX& table) {
  const int groups = table.groups, pairs = kPairs ? kPairs : table.pairs;
  const int* place = table.place;
  const std::uint8_t* block = table.block;
  const std::uint8_t *above = row[0], *below = row[1];
  for (int g = 0; g < groups; ++g, slot += 32, place += 2) {
    const __m256i index = load256(block);
    block += 32;
    Sum upper, lower;
    for (int k = 0; k < pairs; ++k, block += 64) {
      const __m256i high = load256(block), low = load256(block + 32);
      upper.add(_mm256_shuffle_epi8(load_two(above + 6 * k, place), index), high, low);
      lower.add(_mm256_shuffle_epi8(load_two(below + 6 * k, place), index), high, low);
    }
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(slot), two_rows(upper, lower));
  }
}

void pass_x_far(std::uint8_t* slot, const std::uint8_t* const* row, const TableX& table) {
  // (red 0, red 1, green 0, green 1, blue 0, blue 1) of two pixels
  const __m256i index = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1));
  const __m256i together = _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 7, 7);
  const std::uint8_t* block = table.block;
  for (int g = 0; g < table.groups; ++g, slot += 24) {
    Sum upper, lower;
    for (int k = 0; k < table.pairs; ++k, block += 64) {
      const __m256i high = load256(block), low = load256(block + 32);
      const int* place = table.place + 2 * g;
      upper.add(_mm256_shuffle_epi8(load_two(row[0] + 6 * k, place), index), high, low);
      lower.add(_mm256_shuffle_epi8(load_two(row[1] + 6 * k, place), index), high, low);
    }
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(slot),
                        _mm256_permutevar8x32_epi32(two_rows(upper, lower), together));
  }
}

void pass_x(std::uint8_t* slot, const std::uint8_t* const* row, const void* memory) {
  const auto& table = *static_cast<const TableX*>(memory);
  if (!table.near) return pass_x_far(slot, row, table);
  switch (table.pairs) {
    case 1:
      return pass_x_near<1>(slot, row, table);
    case 2:
      return pass_x_near<2>(slot, row, table);
    case 3:
      return pass_x_near<3>(slot, row, table);
    default:
      return pass_x_near<0>(slot, row, table);
  }
}

template <int kSlots>
void pass_y_slots(std::uint8_t* out, const SlotRing& ring, int first, int count, const Pair* pair,
                  int samples) {
  const int slots = kSlots ? kSlots : count;
  for (int i = 0; i < samples; i += 32, out += 32) {
    Sum sum[4];
    for (int s = 0; s < slots; ++s) {
      const std::uint8_t* from =
          ring.memory + static_cast<std::size_t>((first + s) & (ring.slots - 1)) * ring.slot_bytes +
          4 * static_cast<std::size_t>(i);
      const __m256i high = _mm256_set1_epi32(static_cast<int>(pair[s].high));
      const __m256i low = _mm256_set1_epi32(static_cast<int>(pair[s].low));
      for (int v = 0; v < 4; ++v) sum[v].add(load256(from + 32 * v), high, low);
    }
    const __m256i ab = _mm256_packs_epi32(sum[0].level(), sum[1].level());
    const __m256i cd = _mm256_packs_epi32(sum[2].level(), sum[3].level());
    const __m256i in_order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out),
                        _mm256_permutevar8x32_epi32(_mm256_packus_epi16(ab, cd), in_order));
  }
}

void pass_y(std::uint8_t* out, const SlotRing& ring, const void* memory, int output, int samples) {
  const auto& table = *static_cast<const PairTableY*>(memory);
  const Pair* pair = table.pair + std::ptrdiff_t{output} * table.stride;
  const int first = table.slot[output];
  switch (table.slots[output]) {
    case 1:
      return pass_y_slots<1>(out, ring, first, 1, pair, samples);
    case 2:
      return pass_y_slots<2>(out, ring, first, 2, pair, samples);
    default:
      return pass_y_slots<0>(out, ring, first, table.slots[output], pair, samples);
  }
}

}  // namespace

const Passes kPassesAvx2 = {.rows = 2,
                            .bytes_per_sample = 4,
                            .row_slack = 32,
                            .table_x_bytes = table_x_bytes,
                            .make_table_x = make_table_x,
                            .table_y_bytes = pair_table_y_bytes,
                            .make_table_y = make_pair_table_y,
                            .pass_x = pass_x,
                            .pass_y = pass_y};

}  // namespace tundish
