#include "augment/pixels/warp/warp.h"

#include <doctest/doctest.h>

#include <cmath>

#include "augment/cpu/testing.h"
#include "augment/pixels/warp/random_warp.h"
#include "augment/pixels/warp/warp_ops.h"
#include "base/testing.h"

namespace tundish {
namespace {

// Levels far apart, close together, or equal for many pixels.
TestImage some_image(Random& random, std::uint64_t seed) {
  TestImage image = noise({between(random, 20, 130), between(random, 10, 60)}, seed);
  const auto levels = static_cast<std::uint8_t>(between(random, 1, 255));
  const int run = between(random, 1, 40);
  for (std::size_t i = 0; i < image.rgb.size(); ++i) {
    const std::size_t from = i - i % static_cast<std::size_t>(run);
    image.rgb[i] = static_cast<std::uint8_t>(image.rgb[from] % levels);
  }
  return image;
}

// Places on a grid of fractions as well as arbitrary places. Values are integers up to rounding, or
// far from any integer.
PixelStep some_turn(Random& random, Size image) {
  PixelStep step{.op = random.below(2) ? PixelOp::affine : PixelOp::perspective};
  step.filter = random.below(2) ? Filter::bilinear : Filter::bicubic;
  const double turn = random.uniform(-0.4, 0.4), scale = random.uniform(0.5, 1.5);
  const double grid = static_cast<double>(1 << random.below(8));
  const bool whole = random.below(2) == 0;
  const auto rounded = [&](double v) { return whole ? std::round(v * grid) / grid : v; };
  const double cos = rounded(std::cos(turn) * scale), sin = rounded(std::sin(turn) * scale);
  step.value = {cos,  sin, rounded(image.width * random.uniform(-0.2, 0.2)),
                -sin, cos, rounded(image.height * random.uniform(-0.2, 0.2))};
  if (step.op == PixelOp::perspective) step.value[6] = random.uniform(-1e-3, 1e-3);
  return step;
}

TEST_CASE("bytes that float32 finds are those of double, on every instruction set") {
  CAPTURE(test_seed());
  for (std::uint64_t i = 0; i < 1500; ++i) {
    Random random({.seed = test_seed(), .sample = i}, 1);
    const TestImage image = some_image(random, i);
    const PixelStep step = some_turn(random, image.size);
    TestImage slow = image;
    warp_reference(step, slow.rgb, slow.size);
    for (int cpu = 0; cpu <= static_cast<int>(best_cpu()); ++cpu) {
      TestImage fast = image;
      Warp().run(step, fast.rgb, fast.size, static_cast<Cpu>(cpu));
      REQUIRE(fast.rgb == slow.rgb);
    }
  }
}

TEST_CASE("each way of an affine step with the filter nearest occurs and equals its slow twin") {
  CAPTURE(test_seed());
  int ways[3] = {};
  for (std::uint64_t i = 0; i < 1500; ++i) {
    Random random({.seed = test_seed(), .sample = i}, 2);
    const TestImage image = noise({between(random, 1, 90), between(random, 1, 50)}, i);
    PixelStep step{.op = PixelOp::affine};
    random_warp(step, random, image.size);
    step.filter = Filter::nearest;
    const Size result = step.size == Size{} ? image.size : step.size;
    ++ways[static_cast<int>(nearest_affine(step, result).way)];
    TestImage slow = image;
    warp_reference(step, slow.rgb, slow.size);
    for (int cpu = 0; cpu <= static_cast<int>(best_cpu()); ++cpu) {
      TestImage fast = image;
      Warp().run(step, fast.rgb, fast.size, static_cast<Cpu>(cpu));
      REQUIRE(fast.rgb == slow.rgb);
    }
  }
  for (const int count : ways) CHECK(count > 50);
}

}  // namespace
}  // namespace tundish
