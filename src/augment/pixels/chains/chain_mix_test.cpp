#include "augment/pixels/chains/chain_mix.h"

#include <doctest/doctest.h>

#include "augment/cpu/testing.h"
#include "augment/pixels/pixel_runner.h"
#include "augment/pixels/random_step.h"
#include "core/testing.h"

namespace tundish {
namespace {

// A mix, and what it comes to: each chain begins with the same image.
struct SomeMix {
  std::vector<PlanStep> steps;
  std::vector<float> sum;
};

SomeMix some_mix(Random& random, const TestImage& image) {
  SomeMix out;
  const int chains = between(random, 1, 4);
  const double weight = 1.0 / (chains + 1);
  const auto add = [&](PixelOp op, const TestImage& one) {
    out.steps.emplace_back(PixelStep{.op = op, .value = {weight}});
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
      out.steps.emplace_back(step);
      run_slowly(step, changed.rgb, changed.size);
    }
    add(PixelOp::mix_add, changed);
  }
  out.steps.emplace_back(PixelStep{.op = PixelOp::mix_end});
  return out;
}

TEST_CASE("a mix is the weighted sum of chains that each begin with the image") {
  CAPTURE(test_seed());
  for (std::uint64_t i = 0; i < 300; ++i) {
    Random random({.seed = test_seed(), .sample = i}, 3);
    const TestImage image = noise({between(random, 1, 70), between(random, 1, 40)}, i);
    const SomeMix mix = some_mix(random, image);
    for (int cpu = 0; cpu <= static_cast<int>(best_cpu()); ++cpu) {
      TestImage made = image;
      made.size = PixelRunner(static_cast<Cpu>(cpu)).run(mix.steps, made.rgb, made.size);
      REQUIRE(made.size == image.size);
      bool same = true;
      for (std::size_t k = 0; k < made.rgb.size(); ++k) {
        same &= made.rgb[k] == static_cast<int>(mix.sum[k]);
      }
      REQUIRE(same);
    }
  }
}

TEST_CASE("operations on tensors and mixes are left to the CPU") {
  for (const PixelOp op : {PixelOp::elastic, PixelOp::tensor_saturation, PixelOp::tensor_affine,
                           PixelOp::mix_begin, PixelOp::mix_add, PixelOp::mix_end}) {
    const std::vector<PlanStep> steps{PixelStep{.op = op}, PixelStep{.op = PixelOp::invert}};
    CHECK(steps_for_gpu(steps) == 1);
  }
}

}  // namespace
}  // namespace tundish
