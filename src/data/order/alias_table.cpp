#include "data/order/alias_table.h"

#include <algorithm>
#include <cassert>

namespace tundish {

AliasTable make_alias_table(std::span<const double> weights) {
  assert(!weights.empty());
  const std::size_t count = weights.size();
  // Scales by the largest weight, so that no sum of finite weights overflows.
  const double largest = *std::max_element(weights.begin(), weights.end());
  double sum = 0;
  for (const double weight : weights) sum += weight / largest;
  AliasTable table{.keep = std::vector<double>(count), .other = std::vector<std::uint32_t>(count)};
  std::vector<std::uint32_t> below, above;  // indices below and not below an average share
  for (std::size_t i = 0; i < count; ++i) {
    table.keep[i] = weights[i] / largest / sum * static_cast<double>(count);
    (table.keep[i] < 1 ? below : above).push_back(static_cast<std::uint32_t>(i));
  }
  while (!below.empty() && !above.empty()) {
    const std::uint32_t small = below.back(), large = above.back();
    below.pop_back();
    table.other[small] = large;
    table.keep[large] -= 1 - table.keep[small];
    if (table.keep[large] < 1) {
      above.pop_back();
      below.push_back(large);
    }
  }
  // The remaining shares differ from 1 only by rounding.
  for (const auto& rest : {below, above}) {
    for (const std::uint32_t i : rest) table.keep[i] = 1;
  }
  return table;
}

std::uint64_t draw_by_weight(const AliasTable& table, Random& random) {
  const std::uint64_t place = random.below(table.keep.size());
  return random.uniform() < table.keep[place] ? place : table.other[place];
}

}  // namespace tundish
