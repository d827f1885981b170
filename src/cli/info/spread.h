// Smallest, median and largest of many sizes.
#pragma once

#include <cstdint>
#include <vector>

#include "cli/json.h"

namespace tundish::cli {

struct Spread {
  std::uint32_t min = 0, median = 0, max = 0;
};

// Reorders `values`.
Spread spread_of(std::vector<std::uint32_t>& values);

Json spread_json(const Spread& spread);  // null if there are no sizes

}  // namespace tundish::cli
