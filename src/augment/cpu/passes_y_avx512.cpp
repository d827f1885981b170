// The vertical pass with AVX-512: slots into an output row.
#include "augment/cpu/passes_avx512.h"

namespace tundish::passes_avx512 {
namespace {

// For at most four taps per output, the taps are shifted into one dword taken from two slots.
// Otherwise each slot that the taps touch has a dword of weights, zero for unused rows.
struct TableY {
  bool four;
  int stride;                   // dwords of weights per output
  const int* first;             // first input row of each output
  const int* slots;             // number of slots touched; unused with at most four taps
  const std::uint32_t* weight;  // three digits per slot
};

int most_slots(const TapsView& taps) { return (taps.count + kRows - 2) / kRows + 1; }

// Returns digit d (0 is the highest) of a weight, as a byte.
std::uint32_t digit_of(std::int32_t weight, int d) {
  const auto word = (static_cast<std::uint32_t>(weight) + 0x8080u) ^ 0x8080u;
  return (word >> (16 - 8 * d)) & 255u;
}

// Packs the sums of 64 samples into bytes.
void store64(std::uint8_t* out, __m512i a, __m512i b, __m512i c, __m512i d) {
  const __m512i ab = _mm512_packs_epi32(_mm512_srai_epi32(a, kBits), _mm512_srai_epi32(b, kBits));
  const __m512i cd = _mm512_packs_epi32(_mm512_srai_epi32(c, kBits), _mm512_srai_epi32(d, kBits));
  const __m512i in_order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  _mm512_storeu_si512(out, _mm512_permutexvar_epi32(in_order, _mm512_packus_epi16(ab, cd)));
}

const std::uint8_t* slot_of(const SlotRing& ring, int number) {
  return ring.memory + static_cast<std::size_t>(number & (ring.slots - 1)) * ring.slot_bytes;
}

void pass_y_four(std::uint8_t* out, const SlotRing& ring, int first, const std::uint32_t* weight,
                 int samples) {
  const std::uint8_t* above = slot_of(ring, first / kRows);
  const std::uint8_t* below = slot_of(ring, first / kRows + 1);
  const __m512i shift = _mm512_set1_epi32(8 * (first % kRows));
  const __m512i d0 = _mm512_set1_epi32(static_cast<int>(weight[0]));
  const __m512i d1 = _mm512_set1_epi32(static_cast<int>(weight[1]));
  const __m512i d2 = _mm512_set1_epi32(static_cast<int>(weight[2]));
  const __m512i rounding = _mm512_set1_epi32(kRounding);
  for (int i = 0; i < samples; i += 64, out += 64, above += 256, below += 256) {
    __m512i sum[4];
    for (int v = 0; v < 4; ++v) {
      const __m512i x = _mm512_shrdv_epi32(_mm512_loadu_si512(above + 64 * v),
                                           _mm512_loadu_si512(below + 64 * v), shift);
      const __m512i high = _mm512_dpbusd_epi32(rounding, x, d0);
      const __m512i middle = _mm512_dpbusd_epi32(_mm512_slli_epi32(high, 8), x, d1);
      sum[v] = _mm512_dpbusd_epi32(_mm512_slli_epi32(middle, 8), x, d2);
    }
    store64(out, sum[0], sum[1], sum[2], sum[3]);
  }
}

void pass_y_many(std::uint8_t* out, const SlotRing& ring, int first, int slots,
                 const std::uint32_t* weight, int samples) {
  for (int i = 0; i < samples; i += 64, out += 64) {
    Sums sums;
    for (int s = 0; s < slots; ++s) {
      const std::uint8_t* from = slot_of(ring, first / kRows + s) + 4 * static_cast<std::size_t>(i);
      const __m512i d0 = _mm512_set1_epi32(static_cast<int>(weight[3 * s]));
      const __m512i d1 = _mm512_set1_epi32(static_cast<int>(weight[3 * s + 1]));
      const __m512i d2 = _mm512_set1_epi32(static_cast<int>(weight[3 * s + 2]));
      for (int v = 0; v < 4; ++v) sums.add(v, _mm512_loadu_si512(from + 64 * v), d0, d1, d2);
    }
    store64(out, sums.sum(0), sums.sum(1), sums.sum(2), sums.sum(3));
  }
}

}  // namespace

std::size_t table_y_bytes(const TapsView& taps) {
  const auto outputs = static_cast<std::size_t>(taps.outputs);
  const std::size_t weights = taps.count <= kTaps
                                  ? 16 * (outputs + 3)
                                  : 12 * outputs * static_cast<std::size_t>(most_slots(taps));
  return 64 + 2 * align64(4 * outputs) + align64(weights);
}

void make_table_y(void* memory, const TapsView& taps) {
  TableY& table = *static_cast<TableY*>(memory);
  auto* next = static_cast<std::uint8_t*>(memory) + 64;
  int* first = reinterpret_cast<int*>(next);
  next += align64(4 * static_cast<std::size_t>(taps.outputs));
  int* slots = reinterpret_cast<int*>(next);
  next += align64(4 * static_cast<std::size_t>(taps.outputs));
  auto* weight = reinterpret_cast<std::uint32_t*>(next);
  const bool four = taps.count <= kTaps;
  table = {four, four ? 4 : 3 * most_slots(taps), first, slots, weight};
  if (four) {
    for (int i = 0; i < taps.outputs; ++i) first[i] = taps.first[i];
    for (int i = 0; i < taps.outputs; i += 4) {
      _mm512_storeu_si512(weight + std::ptrdiff_t{4} * i, digits(four_pixels(taps, i, 0)));
    }
    return;
  }

  for (int i = 0; i < taps.outputs; ++i, weight += table.stride) {
    const std::int32_t* from = taps.weight + std::ptrdiff_t{i} * taps.count;
    const int shift = taps.first[i] % kRows;
    first[i] = taps.first[i];
    slots[i] = (shift + taps.used[i] + kRows - 1) / kRows;
    for (int k = 0; k < table.stride; ++k) weight[k] = 0;
    for (int k = 0; k < taps.used[i]; ++k) {
      const int place = shift + k;
      for (int d = 0; d < 3; ++d) {
        weight[3 * (place / kRows) + d] |= digit_of(from[k], d) << (8 * (place % kRows));
      }
    }
  }
}

void pass_y(std::uint8_t* out, const SlotRing& ring, const void* memory, int output, int samples) {
  const TableY& table = *static_cast<const TableY*>(memory);
  const std::uint32_t* weight = table.weight + std::ptrdiff_t{output} * table.stride;
  if (table.four) return pass_y_four(out, ring, table.first[output], weight, samples);
  pass_y_many(out, ring, table.first[output], table.slots[output], weight, samples);
}

}  // namespace tundish::passes_avx512
