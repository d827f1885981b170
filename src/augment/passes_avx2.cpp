// The passes with AVX2. Taps in pairs, see augment/passes_pairs.h.
#include <immintrin.h>

#include "augment/passes_pairs.h"

namespace tundish {
namespace {

constexpr int kBits = 22;
constexpr int kRounding = 1 << (kBits - 1);

// Four taps: the 12 bytes of four pixels; two taps: those of two.
struct TableX {
  int groups;                 // of two outputs
  int fours;                  // steps of four taps per output
  bool two;                   // and one of two taps at the end
  const int* place;           // of each output, in bytes
  const std::uint8_t* pairs;  // per group and step: high and low of each pair, 32 bytes each
};

int groups_of(const TapsView& taps) { return (taps.outputs + 1) / 2; }
int fours_of(const TapsView& taps) { return (taps.count + 1) / 4; }
bool has_two(const TapsView& taps) { return taps.count % 4 == 1 || taps.count % 4 == 2; }
int steps_of(const TapsView& taps) { return 2 * fours_of(taps) + (has_two(taps) ? 1 : 0); }

std::size_t table_x_bytes(const TapsView& taps) {
  const auto groups = static_cast<std::size_t>(groups_of(taps));
  return 64 + (8 * groups + 63) / 64 * 64 + 64 * groups * static_cast<std::size_t>(steps_of(taps));
}

void make_table_x(void* memory, const TapsView& taps) {
  auto& table = *static_cast<TableX*>(memory);
  const int groups = groups_of(taps);
  const int steps = steps_of(taps);
  int* place = reinterpret_cast<int*>(static_cast<std::uint8_t*>(memory) + 64);
  std::uint8_t* pairs = reinterpret_cast<std::uint8_t*>(place) +
                        (8 * static_cast<std::size_t>(groups) + 63) / 64 * 64;
  table = {groups, fours_of(taps), has_two(taps), place, pairs};
  for (int g = 0; g < groups; ++g) {
    const int i = 2 * g;
    const int j = i + 1 < taps.outputs ? i + 1 : i;  // an odd last output is done twice
    place[i] = 3 * taps.first[i];
    place[i + 1] = 3 * taps.first[j];
    const auto pair_of = [&](int output, int k) {
      const std::int32_t* weight = taps.weight + std::ptrdiff_t{output} * taps.count;
      return make_pair(k < taps.count ? weight[k] : 0, k + 1 < taps.count ? weight[k + 1] : 0);
    };
    for (int s = 0; s < steps; ++s, pairs += 64) {
      const Pair a = pair_of(i, 2 * s), b = pair_of(j, 2 * s);
      const auto spread = [](std::uint32_t low, std::uint32_t high) {
        return _mm256_set_m128i(_mm_set1_epi32(static_cast<int>(high)),
                                _mm_set1_epi32(static_cast<int>(low)));
      };
      _mm256_store_si256(reinterpret_cast<__m256i*>(pairs), spread(a.high, b.high));
      _mm256_store_si256(reinterpret_cast<__m256i*>(pairs + 32), spread(a.low, b.low));
    }
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

template <int kFours, bool kTwo, bool kAny>
void pass_x_steps(std::uint8_t* slot, const std::uint8_t* const* row, const TableX& table) {
  // (red 0, red 1, green 0, green 1, blue 0, blue 1) of the first and of the next two pixels
  const __m256i first_two = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1));
  const __m256i next_two = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(6, -1, 9, -1, 7, -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1));
  const __m256i by_sample = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, -1, -1, -1, -1));
  const __m256i together = _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 7, 7);
  const int fours = kAny ? table.fours : kFours;
  const bool two = kAny ? table.two : kTwo;

  const std::uint8_t* pairs = table.pairs;
  for (int g = 0; g < table.groups; ++g, slot += 24) {
    const int a = table.place[2 * g], b = table.place[2 * g + 1];
    Sum upper, lower;
    const auto pixels = [&](int r, int byte) {
      const auto load = [&](int place) {
        return _mm_loadu_si128(reinterpret_cast<const __m128i*>(row[r] + place + byte));
      };
      return _mm256_inserti128_si256(_mm256_castsi128_si256(load(a)), load(b), 1);
    };
    for (int s = 0; s < fours; ++s, pairs += 128) {
      const __m256i x = pixels(0, 12 * s), y = pixels(1, 12 * s);
      const __m256i w0 = load256(pairs), w1 = load256(pairs + 32);
      const __m256i w2 = load256(pairs + 64), w3 = load256(pairs + 96);
      upper.add(_mm256_shuffle_epi8(x, first_two), w0, w1);
      lower.add(_mm256_shuffle_epi8(y, first_two), w0, w1);
      upper.add(_mm256_shuffle_epi8(x, next_two), w2, w3);
      lower.add(_mm256_shuffle_epi8(y, next_two), w2, w3);
    }
    if (two) {
      const __m256i x = pixels(0, 12 * fours), y = pixels(1, 12 * fours);
      const __m256i w0 = load256(pairs), w1 = load256(pairs + 32);
      upper.add(_mm256_shuffle_epi8(x, first_two), w0, w1);
      lower.add(_mm256_shuffle_epi8(y, first_two), w0, w1);
      pairs += 64;
    }
    // Per half (one output each): three samples of the upper row, three of the lower one.
    const __m256i levels =
        _mm256_min_epu16(_mm256_packus_epi32(upper.level(), lower.level()), _mm256_set1_epi16(255));
    _mm256_storeu_si256(
        reinterpret_cast<__m256i*>(slot),
        _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(levels, by_sample), together));
  }
}

void pass_x(std::uint8_t* slot, const std::uint8_t* const* row, const void* memory) {
  const auto& table = *static_cast<const TableX*>(memory);
  if (table.fours == 0) return pass_x_steps<0, true, false>(slot, row, table);
  if (table.fours == 1 && !table.two) return pass_x_steps<1, false, false>(slot, row, table);
  if (table.fours == 1) return pass_x_steps<1, true, false>(slot, row, table);
  pass_x_steps<0, false, true>(slot, row, table);
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
