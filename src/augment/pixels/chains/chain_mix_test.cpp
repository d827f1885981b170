#include "augment/pixels/chains/chain_mix.h"

#include <doctest/doctest.h>

#include "augment/cpu/testing.h"
#include "augment/pixels/pixel_runner.h"
#include "augment/pixels/random_step.h"
#include "base/testing.h"

namespace tundish {
namespace {

// A mix and its expected result: each chain starts from the same image.
struct SomeMix {
  std::vector<PixelStep> steps;
  std::vector<float> sum;
};

SomeMix some_mix(Random& random, const TestImage& image) {
  SomeMix out;
  const int chains = between(random, 1, 4);
  const double weight = 1.0 / (chains + 1);
  const auto add = [&](PixelOp op, const TestImage& one) {
    out.steps.push_back({.op = op, .value = {weight}});
    for (std::size_t i = 0; i < one.rgb.size(); ++i) {
      out.sum[i] += static_cast<float>(weight) * static_cast<float>(one.rgb[i]);
    }
  };
  out.sum.resize(image.rgb.size());
  add(PixelOp::mix_begin, image);
  for (int chain = 0; chain < chains; ++chain) {
    TestImage changed = image;
    for (int n = between(random, 0, 3); n > 0; --n) {
      PixelStep step = random_step(random, image.size);
      step.size = {};
      out.steps.push_back(step);
      run_reference(step, changed.rgb, changed.size);
    }
    add(PixelOp::mix_add, changed);
  }
  out.steps.push_back({.op = PixelOp::mix_end});
  return out;
}

TEST_CASE("a mix is the weighted sum of chains that each begin with the image") {
  CAPTURE(test_seed());
  for (std::uint64_t i = 0; i < 300; ++i) {
    Random random({.seed = test_seed(), .sample = i}, 3);
    const TestImage image = noise({between(random, 1, 70), between(random, 1, 40)}, i);
    const SomeMix mix = some_mix(random, image);
    TestImage expected = image;
    for (std::size_t k = 0; k < mix.sum.size(); ++k) {
      expected.rgb[k] = static_cast<std::uint8_t>(mix.sum[k]);
    }
    TestImage slow = image;
    run_reference(mix.steps, slow.rgb, slow.size);
    REQUIRE(slow.rgb == expected.rgb);
    const std::vector<PlanStep> steps(mix.steps.begin(), mix.steps.end());
    for (int cpu = 0; cpu <= static_cast<int>(best_cpu()); ++cpu) {
      TestImage made = image;
      made.size = PixelRunner(static_cast<Cpu>(cpu)).run(steps, made.rgb, made.size);
      REQUIRE(made.size == image.size);
      REQUIRE(made.rgb == expected.rgb);
    }
  }
}

TEST_CASE("lists with mixes among other steps give the pixels of the slow twin") {
  CAPTURE(test_seed());
  for (std::uint64_t i = 0; i < 200; ++i) {
    Random random({.seed = test_seed(), .sample = i}, 4);
    const TestImage image = noise({between(random, 1, 70), between(random, 1, 40)}, i);
    std::vector<PixelStep> list;
    for (int n = between(random, 1, 3); n > 0; --n) {
      if (random.below(2) == 0) {
        add_random_mix(list, random, image.size, [](const PixelStep&) { return true; });
      } else {
        list.push_back({.op = PixelOp::solarize, .value = {random.uniform(0, 256)}});
      }
    }
    TestImage slow = image, fast = image;
    run_reference(list, slow.rgb, slow.size);
    const std::vector<PlanStep> steps(list.begin(), list.end());
    fast.size = PixelRunner().run(steps, fast.rgb, fast.size);
    REQUIRE(fast.rgb == slow.rgb);
  }
}

std::size_t steps_on_gpu(const std::vector<PixelStep>& list) {
  const std::vector<PlanStep> steps(list.begin(), list.end());
  return steps_for_gpu(steps);
}

TEST_CASE("a GPU does a mix whole or not at all") {
  const PixelStep invert{.op = PixelOp::invert}, larger{.op = PixelOp::affine, .size = {9, 9}};
  const PixelStep begin{.op = PixelOp::mix_begin}, add{.op = PixelOp::mix_add};
  const PixelStep end{.op = PixelOp::mix_end}, jpeg{.op = PixelOp::jpeg, .value = {75}};
  CHECK(steps_on_gpu({larger, jpeg, begin, invert, add, add, end, invert}) == 7);
  CHECK(steps_on_gpu({begin, add, end, begin, invert, add, end}) == 7);
  // Orders that never occur in a plan.
  CHECK(steps_on_gpu({invert, begin, jpeg, add, invert, add, end, invert}) == 1);
  CHECK(steps_on_gpu({begin, jpeg, add, end, begin, add, end}) == 3);
  CHECK(steps_on_gpu({begin, {.op = PixelOp::elastic}, add, end, invert}) == 1);
  CHECK(steps_on_gpu({begin, add, invert}) == 1);
  CHECK(steps_on_gpu({add, end}) == 0);
}

TEST_CASE("a GPU does operations on tensors, and elastic unless its kernel is too large") {
  for (const PixelOp op :
       {PixelOp::tensor_saturation, PixelOp::tensor_contrast, PixelOp::tensor_autocontrast,
        PixelOp::tensor_sharpness, PixelOp::tensor_affine, PixelOp::elastic}) {
    CHECK(steps_on_gpu({{.op = op}, {.op = PixelOp::invert}}) == 2);
  }
  const auto elastic = [](double across, double down) {
    return PixelStep{.op = PixelOp::elastic, .value = {50, 50, across, down}};
  };
  CHECK(runs_on_gpu(elastic(15.75, 5)));  // 127 taps
  CHECK_FALSE(runs_on_gpu(elastic(15.9, 5)));
  CHECK_FALSE(runs_on_gpu(elastic(5, 16)));
}

}  // namespace
}  // namespace tundish
