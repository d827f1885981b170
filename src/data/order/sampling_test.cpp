#include "data/order/sampling.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"

namespace tundish {
namespace {

Order order_of(const SamplingOptions& options, std::uint64_t count, bool shuffle = true) {
  return make_order(
      options, count, [](std::uint64_t i) { return static_cast<std::int64_t>(i % 3 ? 0 : i % 2); },
      7, shuffle);
}

std::vector<Draw> epoch_of(const Order& order, std::uint64_t epoch = 0) {
  std::vector<Draw> all;
  for (std::uint64_t p = 0; p < epoch_length(order); ++p) {
    all.push_back(draw_at(order, epoch, p));
  }
  return all;
}

bool no_draw_comes_twice(const std::vector<Draw>& draws) {
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
  for (const Draw& draw : draws) seen.insert({draw.sample, draw.repeat});
  return seen.size() == draws.size();
}

// Sum of (seen - expected)^2 / expected.
double chi_square(const std::vector<double>& seen, const std::vector<double>& expected) {
  double sum = 0;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    sum += (seen[i] - expected[i]) * (seen[i] - expected[i]) / expected[i];
  }
  return sum;
}

}  // namespace

TEST_CASE("a subset visits its samples once and no other") {
  const Order order = order_of({.samples = {40, 3, 17, 8, 99}}, 100);
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    std::vector<std::uint64_t> seen;
    for (const Draw& draw : epoch_of(order, epoch)) seen.push_back(draw.sample);
    std::sort(seen.begin(), seen.end());
    CHECK(seen == std::vector<std::uint64_t>{3, 8, 17, 40, 99});
  }
  CHECK(draw_at(order_of({.samples = {40, 3}}, 100, false), 5, 1) == Draw{3, 0});
}

TEST_CASE("listed samples come as often as they are listed, each time with other random numbers") {
  std::vector<std::uint64_t> list(100, 5);  // sample 5 is listed 100 times
  list.insert(list.end(), {7, 2, 7});
  for (const bool shuffle : {false, true}) {
    const Order order = order_of({.sampling = Sampling::listed, .samples = list}, 10, shuffle);
    const std::vector<Draw> draws = epoch_of(order, 3);
    std::vector<std::uint64_t> seen;
    for (const Draw& draw : draws) seen.push_back(draw.sample);
    CHECK((seen == list) == !shuffle);
    CHECK(std::is_permutation(seen.begin(), seen.end(), list.begin(), list.end()));
    std::vector<Draw> padded = draws;  // positions after the end repeat the epoch
    for (std::uint64_t p = 0; p < 10; ++p) padded.push_back(draw_at(order, 3, draws.size() + p));
    CHECK(no_draw_comes_twice(padded));
  }
}

TEST_CASE("a list without repeats is the order of a subset") {
  for (std::uint64_t p = 0; p < 5; ++p) {
    CHECK(draw_at(order_of({.sampling = Sampling::listed, .samples = {40, 3, 17}}, 100), 2, p) ==
          draw_at(order_of({.samples = {40, 3, 17}}, 100), 2, p));
  }
}

TEST_CASE("weighted draws follow the weights") {
  std::vector<double> weights, expected;
  double sum = 0;
  for (int i = 0; i < 200; ++i) weights.push_back(i % 7 == 0 ? 0 : 1 + i % 5);
  for (const double weight : weights) sum += weight;
  constexpr std::uint64_t kDraws = 400'000;
  const Order order =
      order_of({.sampling = Sampling::weighted, .weights = weights, .draws = kDraws}, 200);
  CHECK(epoch_length(order) == kDraws);
  std::vector<double> counts(200), seen;
  const std::vector<Draw> draws = epoch_of(order);
  for (const Draw& draw : draws) ++counts[draw.sample];
  for (std::size_t i = 0; i < 200; ++i) {
    if (weights[i] == 0) {
      CHECK(counts[i] == 0);
      continue;
    }
    seen.push_back(counts[i]);
    expected.push_back(weights[i] / sum * kDraws);
  }
  // 170 degrees of freedom: mean 170, standard deviation 18.
  CHECK(seen.size() == 171);
  CHECK(chi_square(seen, expected) < 170 + 4 * 18.5);
  CHECK(chi_square(seen, expected) > 170 - 4 * 18.5);
  CHECK(no_draw_comes_twice(draws));
}

TEST_CASE("a table of weights gives each index its share, tiny and huge ones too") {
  for (const std::vector<double>& weights :
       {std::vector<double>{1}, {1, 1, 1}, {1e-300, 1}, {1e308, 1e308, 1e307}, {5, 4, 3, 2, 1}}) {
    const AliasTable table = make_alias_table(weights);
    std::vector<double> share(weights.size());
    for (std::size_t i = 0; i < weights.size(); ++i) {
      CHECK(table.keep[i] >= 0);
      share[i] += table.keep[i];
      share[table.other[i]] += 1 - table.keep[i];
    }
    const double first = share[0] / weights[0];
    for (std::size_t i = 0; i < weights.size(); ++i) {
      CHECK(share[i] == doctest::Approx(first * weights[i]).epsilon(1e-9));
    }
  }
}

TEST_CASE("classes come equally often, and a class's samples in turn, through all epochs") {
  // 300 samples: 250 with label 0, 50 with label 1; an epoch is no whole number of rounds.
  const Order order = order_of({.sampling = Sampling::groups, .draws = 41}, 300);
  REQUIRE(order.groups.size() == 2);
  std::map<std::uint64_t, std::uint64_t> visits[2];
  std::uint64_t total[2] = {0, 0};
  for (std::uint64_t epoch = 0; epoch < 50; ++epoch) {
    const std::vector<Draw> draws = epoch_of(order, epoch);
    CHECK(no_draw_comes_twice(draws));
    for (const Draw& draw : draws) {
      const std::uint64_t label = draw.sample % 3 ? 0 : draw.sample % 2;
      ++visits[label][draw.sample];
      ++total[label];
      const auto [least, most] =
          std::minmax_element(visits[label].begin(), visits[label].end(),
                              [](const auto& a, const auto& b) { return a.second < b.second; });
      // No sample is drawn an n-th time before all were drawn n - 1 times.
      const bool all_came = visits[label].size() == order.groups[label].count;
      REQUIRE(most->second - (all_came ? least->second : 0) <= 1);
    }
    CHECK(std::max(total[0], total[1]) - std::min(total[0], total[1]) <= 1);
  }
}

TEST_CASE("a mixture keeps its proportions in every block and visits its groups in turn") {
  std::vector<std::uint64_t> all(1000);
  for (std::uint64_t i = 0; i < 1000; ++i) all[i] = i;
  const Order order = order_of({.sampling = Sampling::groups,
                                .samples = all,
                                .weights = {0.7, 0.2, 0.1},
                                .group_sizes = {100, 300, 600},
                                .draws = 2000},
                               1000);
  REQUIRE(order.slots.size() == 10);
  const std::vector<Draw> draws = epoch_of(order, 3);
  CHECK(no_draw_comes_twice(draws));
  for (std::size_t block = 0; block < draws.size(); block += 10) {
    int counts[3] = {0, 0, 0};
    for (std::size_t i = block; i < block + 10; ++i) {
      const std::uint64_t sample = draws[i].sample;
      ++counts[sample < 100 ? 0 : sample < 400 ? 1 : 2];
    }
    REQUIRE(counts[0] == 7);
    REQUIRE(counts[1] == 2);
    REQUIRE(counts[2] == 1);
  }
  // Blocks are shuffled, not identical.
  std::set<std::vector<bool>> patterns;
  for (std::size_t block = 0; block < 500; block += 10) {
    std::vector<bool> pattern;
    for (std::size_t i = block; i < block + 10; ++i) pattern.push_back(draws[i].sample < 100);
    patterns.insert(pattern);
  }
  CHECK(patterns.size() > 20);
}

TEST_CASE("any sample of a class may come first, and any class") {
  Order order = order_of({.sampling = Sampling::groups}, 120);
  const std::uint64_t size = order.groups[0].count;
  std::vector<double> first(size), classes(2);
  constexpr std::uint64_t kSeeds = 50'000;
  for (order.seed = 0; order.seed < kSeeds; ++order.seed) {
    for (std::uint64_t p = 0; p < 2; ++p) {
      const std::uint64_t sample = draw_at(order, 0, p).sample;
      const auto end = order.samples.begin() + static_cast<std::ptrdiff_t>(size);
      const auto at = std::find(order.samples.begin(), end, sample);
      if (at == end) continue;
      ++first[static_cast<std::size_t>(at - order.samples.begin())];
      ++classes[p];
    }
  }
  // 99 degrees of freedom: mean 99, standard deviation 14. One degree: mean 1, deviation 1.4.
  CHECK(size == 100);
  CHECK(chi_square(first, std::vector<double>(size, double{kSeeds} / 100)) < 99 + 4 * 14);
  CHECK(chi_square(first, std::vector<double>(size, double{kSeeds} / 100)) > 99 - 4 * 14);
  CHECK(chi_square(classes, {kSeeds / 2.0, kSeeds / 2.0}) < 10);
}

TEST_CASE("repeats are adjacent, each with its own number") {
  for (const Sampling sampling : {Sampling::every, Sampling::groups}) {
    const Order order = order_of({.sampling = sampling, .draws = 90, .repeats = 3}, 60);
    const std::vector<Draw> draws = epoch_of(order, 1);
    CHECK(no_draw_comes_twice(draws));
    std::set<std::uint64_t> distinct;
    for (std::size_t i = 0; i < draws.size(); i += 3) {
      REQUIRE(draws[i].sample == draws[i + 1].sample);
      REQUIRE(draws[i].sample == draws[i + 2].sample);
      REQUIRE(draws[i].repeat % 3 == 0);
      REQUIRE(draws[i + 2].repeat == draws[i].repeat + 2);
      distinct.insert(draws[i].sample);
    }
    if (sampling == Sampling::every) CHECK(distinct.size() == 30);
  }
}

TEST_CASE("shares are the smallest whole numbers in the proportions of the weights") {
  using Shares = std::vector<std::uint64_t>;
  CHECK(shares_of(std::vector<double>{1, 1, 1}) == Shares{1, 1, 1});
  CHECK(shares_of(std::vector<double>{0.7, 0.2, 0.1}) == Shares{7, 2, 1});
  CHECK(shares_of(std::vector<double>{2, 4}) == Shares{1, 2});
  const Shares odd = shares_of(std::vector<double>{3.14159265, 2.71828183});
  const double ratio = static_cast<double>(odd[0]) / static_cast<double>(odd[1]);
  CHECK(ratio == doctest::Approx(3.14159265 / 2.71828183).epsilon(1e-3));
  CHECK(shares_of(std::vector<double>{1e-9, 1})[0] == 1);
}

TEST_CASE("a substitute is drawn from the same order and group, with its own repeat number") {
  const Order subset = order_of({.samples = {40, 3, 17}}, 100);
  const Order weighted =
      order_of({.sampling = Sampling::weighted, .weights = {0, 1, 0, 2}, .draws = 50}, 4);
  const Order balanced = order_of({.sampling = Sampling::groups}, 300);
  std::set<std::uint64_t> repeats;
  for (std::uint64_t p = 0; p < 50; ++p) {
    const Draw one = substitute_draw(subset, 1, p, 0);
    CHECK((one.sample == 40 || one.sample == 3 || one.sample == 17));
    CHECK(substitute_draw(weighted, 1, p, 1).sample % 2 == 1);
    const auto label = [](const Draw& draw) { return draw.sample % 3 ? 0 : draw.sample % 2; };
    CHECK(label(substitute_draw(balanced, 1, p, 0)) == label(draw_at(balanced, 1, p)));
    for (const std::uint32_t attempt : {0u, 1u}) {
      repeats.insert(substitute_draw(subset, 1, p, attempt).repeat);
    }
  }
  CHECK(repeats.size() == 100);
  CHECK(*repeats.begin() > 1'000'000'000);
}

TEST_CASE("an order that makes no sense is refused") {
  const auto why = [](const SamplingOptions& options) {
    try {
      order_of(options, 10);
      return std::string("taken");
    } catch (const Error& error) {
      return error.reason();
    }
  };
  CHECK(why({.samples = {3, 10}}) == "order: there is no sample 10, there are 10");
  CHECK(why({.samples = {3, 4, 3}}).starts_with("order: sample 3 is given twice"));
  CHECK(why({.sampling = Sampling::listed, .samples = {3, 10}}) ==
        "order: there is no sample 10, there are 10");
  CHECK(why({.sampling = Sampling::listed}) == "order: no sample is listed");
  CHECK(why({.sampling = Sampling::weighted, .weights = {1, 2}}) ==
        "order: 2 weights for 10 samples");
  CHECK(why({.sampling = Sampling::weighted, .weights = std::vector<double>(10)}) ==
        "order: all weights are 0");
  CHECK(why({.sampling = Sampling::weighted, .weights = {1, 1, -1, 1, 1, 1, 1, 1, 1, 1}}) ==
        "order: weight 2 must be 0 or more, not -1");
  CHECK(why({.sampling = Sampling::groups, .weights = {1}, .group_sizes = {4, 6}}) ==
        "order: 1 weights for 2 groups");
  CHECK(why({.sampling = Sampling::groups, .weights = {1, 0}, .group_sizes = {4, 6}}) ==
        "order: the weight of group 1 must be above 0, not 0");
  CHECK(why({.sampling = Sampling::groups, .group_sizes = {4, 7}}) ==
        "order: group 1 of 7 samples; 6 are left for it");
  CHECK(why({.sampling = Sampling::groups, .group_sizes = {4, 5}}) ==
        "order: the groups hold 9 of 10 samples");
  CHECK(why({.repeats = 0}) == "order: repeats must be at least 1");
}

TEST_CASE("two orders that differ have two descriptions") {
  std::set<std::string> texts;
  const std::vector<SamplingOptions> all = {
      {},
      {.samples = {1, 2}},
      {.samples = {2, 1}},
      {.sampling = Sampling::listed, .samples = {2, 1}},
      {.sampling = Sampling::listed, .samples = {2, 1, 2}},
      {.repeats = 2},
      {.draws = 20, .repeats = 2},
      {.sampling = Sampling::weighted, .weights = {1, 2, 3, 4}},
      {.sampling = Sampling::weighted, .weights = {1, 2, 4, 3}},
      {.sampling = Sampling::groups},
      {.sampling = Sampling::groups, .group_sizes = {1, 3}},
      {.sampling = Sampling::groups, .weights = {1, 2}, .group_sizes = {1, 3}},
  };
  for (const SamplingOptions& options : all) texts.insert(describe(order_of(options, 4)));
  CHECK(texts.size() == all.size());
  CHECK(texts.contains("shuffled"));
  CHECK(describe(order_of({}, 4, false)) == "as stored");
}

TEST_CASE("these orders never change: saved runs depend on them") {
  const auto first = [](const Order& order) {
    std::vector<std::uint64_t> samples;
    for (std::uint64_t p = 0; p < 5; ++p) samples.push_back(draw_at(order, 7, p).sample);
    return samples;
  };
  std::vector<double> weights;
  for (int i = 0; i < 100; ++i) weights.push_back(i);
  CHECK(first(order_of({.sampling = Sampling::weighted, .weights = weights}, 100)) ==
        std::vector<std::uint64_t>{48, 61, 57, 59, 78});
  CHECK(first(order_of({.sampling = Sampling::groups}, 100)) ==
        std::vector<std::uint64_t>{16, 3, 96, 57, 87});
}

}  // namespace tundish
