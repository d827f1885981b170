// A draw by weight in O(1): every place keeps its own index with some probability and otherwise
// gives that of one other place (Walker's alias method, built as Vose does).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"

namespace tundish {

struct AliasTable {
  std::vector<double> keep;          // by place, 0 to 1
  std::vector<std::uint32_t> other;  // by place
};

// weights: finite and above 0, fewer than 2^32. The same table for the same weights, everywhere.
AliasTable make_alias_table(std::span<const double> weights);

// An index of `weights`; takes two numbers of the stream.
std::uint64_t draw_by_weight(const AliasTable& table, Random& random);

}  // namespace tundish
