// Any operation on pixels with any numbers, for tests.
#pragma once

#include <algorithm>

#include "augment/pixels/pixel_step.h"
#include "core/random.h"
#include "core/testing.h"

namespace tundish {

// One of the operations that have an executor; the rest come with theirs.
inline PixelStep random_step(Random& random, Size image) {
  constexpr PixelOp kOps[] = {PixelOp::invert,        PixelOp::posterize, PixelOp::solarize,
                              PixelOp::gaussian_blur, PixelOp::box_blur,  PixelOp::jpeg,
                              PixelOp::noise,         PixelOp::erase};
  PixelStep step{.op = kOps[random.below(std::size(kOps))]};
  if (step.op == PixelOp::posterize) step.value[0] = static_cast<double>(random.below(9));
  if (step.op == PixelOp::solarize) step.value[0] = random.uniform(0, 257);
  if (step.op == PixelOp::gaussian_blur) {
    const auto kernel = [&](int side) {
      return 2.0 * between(random, 0, std::min(side - 1, 12)) + 1;
    };
    const double sigma = random.uniform(0.1, 4);
    step.value = {kernel(image.width), kernel(image.height), sigma, random.uniform(0.1, 4)};
  }
  if (step.op == PixelOp::box_blur) step.value[0] = random.uniform(0, 1) * random.uniform(0, 20);
  if (step.op == PixelOp::jpeg) step.value[0] = between(random, 1, 100);
  step.key = kind_of(step.op) == PixelKind::noise ? random.next() : 0;
  if (step.op == PixelOp::noise) {
    step.value = {random.uniform(-1, 1), random.uniform(), static_cast<double>(random.below(2))};
  }
  if (step.op == PixelOp::erase) {
    step.value[0] = static_cast<double>(random.below(2));
    step.fill = {1, 2, 3};
    const int x = between(random, 0, image.width - 1), y = between(random, 0, image.height - 1);
    step.window = {x, y, between(random, 1, image.width - x), between(random, 1, image.height - y)};
  }
  return step;
}

}  // namespace tundish
