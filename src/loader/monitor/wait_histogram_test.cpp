#include "loader/monitor/wait_histogram.h"

#include <doctest/doctest.h>

#include <vector>

#include "base/random.h"

namespace tundish {
namespace {

// Reference implementation: all waits, sorted.
std::uint64_t quantile_reference(std::vector<std::uint64_t> waits, double q) {
  std::sort(waits.begin(), waits.end());
  const auto rank = static_cast<std::size_t>(std::ceil(q * static_cast<double>(waits.size())));
  return waits[std::max<std::size_t>(rank, 1) - 1];
}

}  // namespace

TEST_CASE("a quantile is the exact one or at most an eighth above it") {
  Random random({}, 0);
  for (int round = 0; round < 200; ++round) {
    WaitHistogram histogram;
    std::vector<std::uint64_t> waits;
    const int count = 1 + static_cast<int>(random.next() % 300);
    for (int i = 0; i < count; ++i) {
      waits.push_back(random.next() >> (random.next() % 64));
      histogram.add(waits.back());
    }
    for (const double q : {0.0, 0.01, 0.5, 0.9, 0.99, 1.0}) {
      const std::uint64_t exact = quantile_reference(waits, q);
      CHECK(histogram.quantile(q) >= exact);
      CHECK(histogram.quantile(q) - exact <= exact / 8);
    }
  }
}

TEST_CASE("the shortest and the longest wait are counted") {
  WaitHistogram histogram;
  CHECK(histogram.quantile(0.5) == 0);
  for (std::uint64_t ns = 0; ns < 16; ++ns) {
    WaitHistogram one;
    one.add(ns);
    CHECK(one.quantile(0.5) == ns);
  }
  histogram.add(~std::uint64_t{0});
  CHECK(histogram.quantile(1) == ~std::uint64_t{0});
}

}  // namespace tundish
