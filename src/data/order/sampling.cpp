#include "data/order/sampling.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "base/error.h"

namespace tundish {
namespace {

constexpr std::uint64_t kMaxBlock = 10'000;

[[noreturn]] void refuse(const std::string& why) {
  throw Error(ErrorCode::argument, {}, "order: " + why);
}

void check_sample(std::uint64_t sample, std::uint64_t count) {
  if (sample >= count) {
    refuse(fmt::format("there is no sample {}, there are {}", with_commas(sample),
                       with_commas(count)));
  }
}

// Throws if a number is out of range or repeated.
void check_samples(const std::vector<std::uint64_t>& samples, std::uint64_t count) {
  std::vector<bool> seen(static_cast<std::size_t>(count));
  for (const std::uint64_t sample : samples) {
    check_sample(sample, count);
    if (seen[static_cast<std::size_t>(sample)]) {
      refuse(
          fmt::format("sample {} is given twice; what comes more often has a weight (Weighted) "
                      "or is Repeated",
                      with_commas(sample)));
    }
    seen[static_cast<std::size_t>(sample)] = true;
  }
}

void check_weights(const std::vector<double>& weights) {
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!std::isfinite(weights[i]) || weights[i] < 0) {
      refuse(fmt::format("weight {} must be 0 or more, not {}", i, weights[i]));
    }
  }
}

// Numbers the entries of each sample, so that every visit gets its own random numbers.
void prepare_listed(Order& order, std::uint64_t count) {
  if (order.samples.empty()) refuse("no sample is listed");
  std::vector<std::uint32_t> entries(static_cast<std::size_t>(count));
  for (const std::uint64_t sample : order.samples) {
    check_sample(sample, count);
    std::uint32_t& here = entries[static_cast<std::size_t>(sample)];
    if (here == std::numeric_limits<std::uint32_t>::max()) refuse("a sample is listed too often");
    order.earlier_entries.push_back(here++);
    order.most_entries = std::max(order.most_entries, here);
  }
  if (order.most_entries == 1) order.earlier_entries = {};
}

// The table omits samples of weight 0, so that no rounding can draw one.
void prepare_weighted(Order& order, const SamplingOptions& options) {
  if (options.weights.size() != order.count) {
    refuse(fmt::format("{} weights for {} samples", with_commas(options.weights.size()),
                       with_commas(order.count)));
  }
  check_weights(options.weights);
  std::vector<double> weights;
  std::vector<std::uint64_t> samples;
  for (std::size_t i = 0; i < options.weights.size(); ++i) {
    if (options.weights[i] == 0) continue;
    weights.push_back(options.weights[i]);
    samples.push_back(order.samples.empty() ? i : order.samples[i]);
  }
  if (weights.empty()) refuse("all weights are 0");
  if (weights.size() > std::numeric_limits<std::uint32_t>::max()) refuse("too many weights");
  order.weights = make_alias_table(weights);
  if (order.draws == 0) order.draws = order.count;
  order.count = samples.size();
  order.samples = std::move(samples);
}

std::vector<std::uint64_t> group_by_label(Order& order, const LabelOf& label) {
  std::map<std::int64_t, std::vector<std::uint64_t>> classes;
  for (std::uint64_t i = 0; i < order.count; ++i) {
    const std::uint64_t sample =
        order.samples.empty() ? i : order.samples[static_cast<std::size_t>(i)];
    const std::int64_t its = label(sample);
    if (its < 0) {
      refuse(
          fmt::format("sample {} has no label, so no class; give the samples that have one: "
                      "Balanced(of=Subset([...]))",
                      with_commas(sample)));
    }
    classes[its].push_back(sample);
  }
  order.samples.clear();
  std::vector<std::uint64_t> sizes;
  for (const auto& [number, samples] : classes) {
    sizes.push_back(samples.size());
    order.samples.insert(order.samples.end(), samples.begin(), samples.end());
  }
  return sizes;
}

void prepare_groups(Order& order, const SamplingOptions& options, const LabelOf& label) {
  const std::vector<std::uint64_t> sizes =
      options.group_sizes.empty() ? group_by_label(order, label) : options.group_sizes;
  const std::vector<std::uint64_t> shares = options.weights.empty()
                                                ? std::vector<std::uint64_t>(sizes.size(), 1)
                                                : shares_of(options.weights);
  if (shares.size() != sizes.size()) {
    refuse(fmt::format("{} weights for {} groups", shares.size(), sizes.size()));
  }
  std::uint64_t first = 0;
  for (std::size_t g = 0; g < sizes.size(); ++g) {
    if (sizes[g] == 0 || sizes[g] > order.count - first) {
      refuse(fmt::format("group {} of {} samples; {} are left for it", g, with_commas(sizes[g]),
                         with_commas(order.count - first)));
    }
    order.groups.push_back({first, sizes[g], shares[g]});
    first += sizes[g];
    for (std::uint64_t number = 0; number < shares[g]; ++number) {
      order.slots.push_back({static_cast<std::uint32_t>(g), static_cast<std::uint32_t>(number)});
    }
  }
  if (first != order.count) {
    refuse(fmt::format("the groups hold {} of {} samples", with_commas(first),
                       with_commas(order.count)));
  }
}

template <class T>
std::uint64_t digest(const std::vector<T>& values) {
  return XXH3_64bits(values.data(), values.size() * sizeof(T));
}

}  // namespace

Order make_order(const SamplingOptions& options, std::uint64_t count, const LabelOf& label,
                 std::uint64_t seed, bool shuffle) {
  if (options.repeats == 0) refuse("repeats must be at least 1");
  if (options.sampling != Sampling::listed) check_samples(options.samples, count);
  Order order{.count = options.samples.empty() ? count : options.samples.size(),
              .seed = seed,
              .shuffle = shuffle,
              .sampling = options.sampling,
              .draws = options.draws,
              .repeats = options.repeats,
              .samples = options.samples};
  if (order.sampling == Sampling::weighted) prepare_weighted(order, options);
  if (order.sampling == Sampling::groups) prepare_groups(order, options, label);
  if (order.sampling == Sampling::listed) prepare_listed(order, count);
  return order;
}

std::vector<std::uint64_t> shares_of(std::span<const double> weights) {
  double sum = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!std::isfinite(weights[i]) || weights[i] <= 0) {
      refuse(fmt::format("the weight of group {} must be above 0, not {}", i, weights[i]));
    }
    sum += weights[i];
  }
  std::vector<std::uint64_t> shares(weights.size());
  const auto try_block = [&](double block) {
    bool exact = true;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const double wanted = weights[i] / sum * block;
      const double nearest = std::max(1.0, std::round(wanted));
      exact &= std::abs(wanted - nearest) < 1e-6;
      shares[i] = static_cast<std::uint64_t>(nearest);
    }
    return exact;
  };
  for (std::uint64_t block = weights.size(); block <= kMaxBlock; ++block) {
    if (try_block(static_cast<double>(block))) return shares;
  }
  try_block(static_cast<double>(std::max<std::uint64_t>(kMaxBlock, 16 * weights.size())));
  return shares;
}

std::string describe(const Order& order) {
  std::string text;
  const auto list = [&](std::uint64_t hash) { text += fmt::format(" (list {:016x})", hash); };
  switch (order.sampling) {
    case Sampling::every:
      if (order.samples.empty()) break;
      text = fmt::format("{} chosen samples", with_commas(order.count));
      list(digest(order.samples));
      break;
    case Sampling::listed:
      text = fmt::format("{} listed samples", with_commas(order.count));
      list(digest(order.samples));
      break;
    case Sampling::weighted:
      text = fmt::format("{} samples by weight", with_commas(order.count));
      list(digest(order.samples) ^ digest(order.weights.keep) ^ digest(order.weights.other));
      break;
    case Sampling::groups: {
      const bool equal = std::all_of(order.groups.begin(), order.groups.end(),
                                     [](const Order::Group& g) { return g.share == 1; });
      text = fmt::format("{} groups in {} shares", with_commas(order.groups.size()),
                         equal ? "equal" : "given");
      std::vector<std::uint64_t> numbers = order.samples;
      for (const Order::Group& group : order.groups) {
        numbers.insert(numbers.end(), {group.count, group.share});
      }
      list(digest(numbers));
      break;
    }
  }
  const auto add = [&](const std::string& more) { text += (text.empty() ? "" : ", ") + more; };
  if (order.draws) add(fmt::format("{} draws", with_commas(order.draws)));
  if (order.repeats > 1) add(fmt::format("each {} times", order.repeats));
  if (order.sampling != Sampling::weighted) add(order.shuffle ? "shuffled" : "as stored");
  return text;
}

}  // namespace tundish
