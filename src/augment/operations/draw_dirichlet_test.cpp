#include "augment/operations/draw_dirichlet.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tundish {
namespace {

constexpr int kDraws = 100'000;

// Returns the Kolmogorov-Smirnov distance between the first of `count` numbers and the distribution
// function `below`.
template <class Below>
double worst_distance(int count, double alpha, const Below& below) {
  std::vector<double> drawn;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    Random random({.seed = 5, .sample = i}, 0);
    const auto numbers = draw_dirichlet(random, count, alpha);
    double sum = 0.0;
    for (const double one : numbers) sum += one;
    REQUIRE(std::abs(sum - 1.0) < 1e-12);
    drawn.push_back(numbers[i % numbers.size()]);
  }
  std::sort(drawn.begin(), drawn.end());
  double worst = 0.0;
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    const double p = below(drawn[i]);
    worst = std::max({worst, std::abs(p - static_cast<double>(i) / kDraws),
                      std::abs(p - static_cast<double>(i + 1) / kDraws)});
  }
  return worst;
}

TEST_CASE("each number of a Dirichlet distribution has its Beta distribution") {
  const double limit = 1.95 / std::sqrt(kDraws);  // significance 0.1 %
  CHECK(worst_distance(2, 1.0, [](double x) { return x; }) < limit);
  CHECK(worst_distance(3, 1.0, [](double x) { return 1 - (1 - x) * (1 - x); }) < limit);
  CHECK(worst_distance(5, 1.0, [](double x) { return 1 - std::pow(1 - x, 4); }) < limit);
  CHECK(worst_distance(2, 2.0, [](double x) { return x * x * (3 - 2 * x); }) < limit);
  CHECK(worst_distance(2, 0.5, [](double x) {
          return 2 / std::numbers::pi * std::asin(std::sqrt(x));
        }) < limit);
  CHECK(worst_distance(3, 0.5, [](double x) { return std::sqrt(x); }) < limit);
}

TEST_CASE("a Dirichlet distribution of any alpha gives numbers that are 1 together") {
  for (const double alpha : {1e-6, 1e-3, 1e3, 1e6}) {
    Random random({.seed = 6}, 0);
    for (int i = 0; i < 1000; ++i) {
      double sum = 0.0;
      for (const double one : draw_dirichlet(random, 3, alpha)) {
        REQUIRE(one >= 0.0);
        sum += one;
      }
      REQUIRE(std::abs(sum - 1.0) < 1e-12);
    }
  }
}

}  // namespace
}  // namespace tundish
