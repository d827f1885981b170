#include "cli/info/spread.h"

#include <algorithm>

namespace tundish::cli {

Spread spread_of(std::vector<std::uint32_t>& values) {
  if (values.empty()) return {};
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return {.min = *low, .median = *middle, .max = *high};
}

Json spread_json(const Spread& spread) {
  if (spread.max == 0) return {};
  return {{"min", spread.min}, {"median", spread.median}, {"max", spread.max}};
}

}  // namespace tundish::cli
