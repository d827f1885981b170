// Numbers drawn by the color transforms over 100,000 plans, compared with torchvision's rules.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "augment/transform.h"
#include "base/testing.h"

namespace tundish {
namespace {

constexpr int kPlans = 100'000;

// Calls visit(steps) with the pixel operations of each plan.
template <class Visit>
void each_plan(const Transforms& transforms, Visit visit) {
  for (std::uint64_t i = 0; i < kPlans; ++i) {
    const View view = plan_view(transforms, {8, 8}, {.seed = 11, .sample = i});
    std::vector<PixelStep> steps;
    for (const PlanStep& step : view.steps()) {
      if (const auto* one = std::get_if<PixelStep>(&step)) steps.push_back(*one);
    }
    visit(steps);
  }
}

// Kolmogorov-Smirnov test: the largest distance between the distributions exceeds
// 1.95 / sqrt(n) with probability 1 in 1000.
bool is_uniform(std::vector<double> numbers, double low, double high) {
  std::sort(numbers.begin(), numbers.end());
  double most = 0;
  const auto n = static_cast<double>(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double expected = (numbers[i] - low) / (high - low);
    most = std::max({most, std::abs(expected - static_cast<double>(i) / n),
                     std::abs(expected - static_cast<double>(i + 1) / n)});
  }
  return most < 1.95 / std::sqrt(n) && numbers.front() >= low - 1e-7 &&
         numbers.back() <= high + 1e-7;
}

// Whether `count` is within four standard deviations of `of * share`.
bool is_share(int count, int of, double share) {
  return std::abs(count - of * share) <= 4 * std::sqrt(of * share * (1 - share));
}

std::string names(const std::vector<PixelStep>& steps) {
  std::string out;
  for (const PixelStep& step : steps) out += words(step.op)[static_cast<std::size_t>(step.op)][0];
  return out;  // initials: b, c, s, h
}

TEST_CASE("ColorJitter draws every order as often, and factors uniformly") {
  std::map<std::string, int> orders;
  std::map<PixelOp, std::vector<double>> factors;
  std::map<double, int> hues;
  each_plan({ColorJitter{{0.6, 1.4}, {0.5, 2}, {0, 1}, {-0.1, 0.1}}}, [&](const auto& steps) {
    ++orders[names(steps)];
    for (const PixelStep& step : steps) {
      factors[step.op].push_back(step.value[0]);
      if (step.op == PixelOp::hue) ++hues[step.value[0]];
    }
  });
  CHECK(orders.size() == 24);
  for (const auto& [order, count] : orders) CHECK(is_share(count, kPlans, 1.0 / 24));
  CHECK(is_uniform(factors[PixelOp::brightness], 0.6, 1.4));
  CHECK(is_uniform(factors[PixelOp::contrast], 0.5, 2));
  CHECK(is_uniform(factors[PixelOp::saturation], 0, 1));
  // trunc(-25.5 .. 25.5): 0 from both sides, 25 from half a level.
  CHECK(hues.size() == 51);
  for (const auto& [added, count] : hues) {
    const double level = added < 128 ? added : 256 - added;
    CHECK(is_share(count, kPlans, (level == 0 ? 2 : level == 25 ? 0.5 : 1) / 51));
  }
}

TEST_CASE("ColorJitter does only what it was given") {
  each_plan({ColorJitter{.contrast = {0.5, 1.5}}},
            [](const auto& steps) { REQUIRE(names(steps) == "c"); });
  each_plan({ColorJitter{}}, [](const auto& steps) { REQUIRE(steps.empty()); });
}

TEST_CASE("RandomPhotometricDistort has torchvision's order and probabilities") {
  // Order: brightness, contrast (here or after the hue), saturation, hue, channel permutation.
  std::map<PixelOp, std::vector<double>> factors;
  std::map<std::array<double, 3>, int> channels;
  int before = 0, after = 0;
  each_plan({RandomPhotometricDistort{.p = 0.7}}, [&](std::vector<PixelStep> steps) {
    for (const PixelStep& step : steps) factors[step.op].push_back(step.value[0]);
    std::string order = names(steps);
    if (order.ends_with('p')) {
      ++channels[{steps.back().value[0], steps.back().value[1], steps.back().value[2]}];
      order.pop_back();
    }
    const auto contrast = order.find('c');
    if (contrast != std::string::npos) {
      const bool other = order.find_first_of("sh") != std::string::npos;
      if (other) (order.ends_with('c') ? after : before) += 1;
      REQUIRE((contrast + 1 == order.size() ||
               order.substr(0, contrast).find_first_of("sh") == std::string::npos));
      order.erase(contrast, 1);
    }
    REQUIRE(std::is_sorted(order.begin(), order.end(), [](char a, char b) {
      return std::string("bsh").find(a) < std::string("bsh").find(b);
    }));
  });
  for (const PixelOp op : {PixelOp::brightness, PixelOp::contrast, PixelOp::saturation,
                           PixelOp::hue, PixelOp::permute_channels}) {
    CHECK(is_share(static_cast<int>(factors[op].size()), kPlans, 0.7));
  }
  CHECK(is_share(before, before + after, 0.5));
  CHECK(is_uniform(factors[PixelOp::brightness], 0.875, 1.125));
  CHECK(is_uniform(factors[PixelOp::contrast], 0.5, 1.5));
  CHECK(is_uniform(factors[PixelOp::saturation], 0.5, 1.5));
  const int permuted = static_cast<int>(factors[PixelOp::permute_channels].size());
  CHECK(channels.size() == 6);
  for (const auto& [order, count] : channels) CHECK(is_share(count, permuted, 1.0 / 6));
}

TEST_CASE("RandomChannelPermutation draws every order as often") {
  std::map<std::array<double, 3>, int> channels;
  each_plan({RandomChannelPermutation{}}, [&channels](const auto& steps) {
    ++channels[{steps[0].value[0], steps[0].value[1], steps[0].value[2]}];
  });
  CHECK(channels.size() == 6);
  for (const auto& [order, count] : channels) CHECK(is_share(count, kPlans, 1.0 / 6));
}

TEST_CASE("operations on colors are done with probability p") {
  const auto share = [](const Transform& transform, PixelOp op, double p) {
    int count = 0;
    each_plan({transform}, [&](const auto& steps) {
      count += steps.size() == 1 && steps[0].op == op;
      REQUIRE(steps.size() <= 1);
    });
    return is_share(count, kPlans, p);
  };
  CHECK(share(RandomGrayscale{}, PixelOp::grayscale, 0.1));
  CHECK(share(RandomAdjustSharpness{.sharpness_factor = 2}, PixelOp::sharpness, 0.5));
  CHECK(share(RandomAutocontrast{.p = 0.3}, PixelOp::autocontrast, 0.3));
  CHECK(share(RandomEqualize{.p = 0.8}, PixelOp::equalize, 0.8));
  CHECK(share(Grayscale{3}, PixelOp::grayscale, 1));
}

}  // namespace
}  // namespace tundish
