// Walker's alias method, built by Vose's algorithm: draws by weight in O(1). Every index is kept
// with some probability and is otherwise replaced by one other index.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"

namespace tundish {

struct AliasTable {
  std::vector<double> keep;          // per index: probability of keeping it, 0 to 1
  std::vector<std::uint32_t> other;  // per index: its replacement
};

// There are fewer than 2^32 weights, all finite and above 0. Equal weights produce equal tables on
// every machine.
AliasTable make_alias_table(std::span<const double> weights);

// Returns an index of `weights`; takes two numbers of the stream.
std::uint64_t draw_by_weight(const AliasTable& table, Random& random);

}  // namespace tundish
