// Sampling options of a user, checked and prepared once, so that each draw is O(1).
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
  // Sample numbers, distinct unless listed; empty: all. For groups: one group after another.
  std::vector<std::uint64_t> samples = {};
  // weighted: one per sample. groups: one per group; empty: equal shares.
  std::vector<double> weights = {};
  // groups: samples per group; empty: samples are grouped by label.
  std::vector<std::uint64_t> group_sizes = {};
  std::uint64_t draws = 0;    // positions per epoch; 0: number of samples
  std::uint32_t repeats = 1;  // consecutive positions per draw
};

using LabelOf = std::function<std::int64_t(std::uint64_t sample)>;

// Builds an order over the samples 0 .. count-1 of a source. Throws Error(argument).
Order make_order(const SamplingOptions& options, std::uint64_t count, const LabelOf& label,
                 std::uint64_t seed, bool shuffle);

// Returns whole numbers in proportion to the weights, each at least 1. The result is the smallest
// exact one if its sum is at most 10,000, otherwise rounded to about a ten-thousandth.
std::vector<std::uint64_t> shares_of(std::span<const double> weights);

// Returns a one-line description with a digest of given lists: different orders differ in it.
std::string describe(const Order& order);

}  // namespace tundish
