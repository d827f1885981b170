#include "augment/pixels/pixel_runner.h"

#include <doctest/doctest.h>

#include "augment/cpu/plan_runner.h"
#include "augment/cpu/testing.h"
#include "augment/pixels/random_step.h"
#include "base/testing.h"

namespace tundish {
namespace {

TEST_CASE("every operation on every instruction set gives the pixels of its slow twin") {
  CAPTURE(test_seed());
  for (std::uint64_t i = 0; i < 3000; ++i) {
    Random random({.seed = test_seed(), .sample = i}, 0);
    const TestImage image = noise({between(random, 1, 70), between(random, 1, 40)}, i);
    std::vector<PlanStep> steps;
    TestImage slow = image;
    for (int n = between(random, 1, 4); n > 0; --n) {
      const PixelStep step = random_step(random, slow.size);
      steps.emplace_back(step);
      run_reference(step, slow.rgb, slow.size);
    }
    for (int cpu = 0; cpu <= static_cast<int>(best_cpu()); ++cpu) {
      TestImage fast = image;
      fast.size = PixelRunner(static_cast<Cpu>(cpu)).run(steps, fast.rgb, fast.size);
      REQUIRE(fast.size == slow.size);
      REQUIRE(fast.rgb == slow.rgb);
    }
  }
}

}  // namespace
}  // namespace tundish
