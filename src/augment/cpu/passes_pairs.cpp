#include "augment/cpu/passes_pairs.h"

namespace tundish {
namespace {

int most_slots(const TapsView& taps) { return taps.count / 2 + 1; }

}  // namespace

Pair make_pair(std::int32_t a, std::int32_t b) {
  const auto both = [](std::int32_t first, std::int32_t second) {
    return (static_cast<std::uint32_t>(first) & 0xffffu) | static_cast<std::uint32_t>(second) << 16;
  };
  return {both(a >> 11, b >> 11), both(a & 2047, b & 2047)};
}

std::size_t pair_table_y_bytes(const TapsView& taps) {
  const auto outputs = static_cast<std::size_t>(taps.outputs);
  return sizeof(PairTableY) + outputs * 2 * sizeof(int) +
         outputs * static_cast<std::size_t>(most_slots(taps)) * sizeof(Pair);
}

void make_pair_table_y(void* memory, const TapsView& taps) {
  auto& table = *static_cast<PairTableY*>(memory);
  int* slot = reinterpret_cast<int*>(&table + 1);
  int* slots = slot + taps.outputs;
  auto* pair = reinterpret_cast<Pair*>(slots + taps.outputs);
  table = {most_slots(taps), slot, slots, pair};
  for (int i = 0; i < taps.outputs; ++i, pair += table.stride) {
    const std::int32_t* weight = taps.weight + std::ptrdiff_t{i} * taps.count;
    const int odd = taps.first[i] % 2;
    const auto tap = [&](int k) { return k >= 0 && k < taps.used[i] ? weight[k] : 0; };
    slot[i] = taps.first[i] / 2;
    slots[i] = (odd + taps.used[i] + 1) / 2;
    for (int k = 0; k < slots[i]; ++k) pair[k] = make_pair(tap(2 * k - odd), tap(2 * k + 1 - odd));
  }
}

}  // namespace tundish
