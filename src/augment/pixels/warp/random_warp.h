// Draws random numbers for an operation that moves pixels, for tests.
#pragma once

#include "augment/pixels/pixel_step.h"
#include "base/random.h"

namespace tundish {

// Draws small and huge numbers and integers, so that every NearestWay and every kind of border
// occurs. `image` may have any size: the moves scale with it.
inline void random_warp(PixelStep& step, Random& random, Size image) {
  const double ranges[] = {1, 1.5, 1e-3, 40, 1e6};
  const auto one = [&](double usual) {
    const double range = ranges[random.below(5)];
    const double value = random.below(2) ? usual : random.uniform(-range, range);
    return random.below(3) ? value : static_cast<double>(static_cast<int>(value * 2)) / 2;
  };
  step.filter = static_cast<Filter>(random.below(3));
  for (std::uint8_t& level : step.fill) level = static_cast<std::uint8_t>(random.below(256));
  const bool turns = random.below(4) != 0;
  step.value = {one(1), turns ? one(0.3) : 0,   one(image.width * 0.2), turns ? one(0.2) : 0,
                one(1), one(image.height * 0.1)};
  if (step.op == PixelOp::perspective) {
    step.value[6] = random.uniform(-0.02, 0.02);
    step.value[7] = random.below(4) ? random.uniform(-0.02, 0.02) : 0;
  }
  if (random.below(4) == 0) {
    step.size = {1 + static_cast<int>(random.below(90)), 1 + static_cast<int>(random.below(50))};
  }
}

}  // namespace tundish
