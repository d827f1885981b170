// What a user asks of an order, checked and prepared once, so that each draw is O(1).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "data/order/order.h"

namespace tundish {

struct SamplingOptions {
  Sampling sampling = Sampling::every;
  // Sample numbers, none twice unless listed; empty: all. Of groups: group after group.
  std::vector<std::uint64_t> samples = {};
  // weighted: one per sample. groups: one per group, none for equal shares.
  std::vector<double> weights = {};
  // groups: how many samples each has; none: a group is a class, by label.
  std::vector<std::uint64_t> group_sizes = {};
  std::uint64_t draws = 0;    // positions of an epoch; 0: as many as samples
  std::uint32_t repeats = 1;  // each draw so often in a row
};

using LabelOf = std::function<std::int64_t(std::uint64_t sample)>;

// An order over the samples 0 .. count-1 of a source. Throws Error(argument).
Order make_order(const SamplingOptions& options, std::uint64_t count, const LabelOf& label,
                 std::uint64_t seed, bool shuffle);

// Whole numbers in the proportions of the weights: the smallest that are exact when their sum is
// at most 10,000, otherwise rounded to about a ten-thousandth. Each is at least 1.
std::vector<std::uint64_t> shares_of(std::span<const double> weights);

// One line for people, with a digest of lists that were given: two orders that differ have two.
std::string describe(const Order& order);

}  // namespace tundish
