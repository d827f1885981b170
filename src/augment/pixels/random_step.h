// Any operation on pixels with any numbers, for tests.
#pragma once

#include "augment/pixels/pixel_step.h"
#include "augment/pixels/random_warp.h"
#include "core/random.h"

namespace tundish {

// One of the operations that have an executor; the rest come with theirs.
inline PixelStep random_step(Random& random, Size image) {
  constexpr PixelOp kOps[] = {PixelOp::invert, PixelOp::posterize, PixelOp::solarize,
                              PixelOp::solarize_add, PixelOp::affine, PixelOp::perspective};
  PixelStep step{.op = kOps[random.below(std::size(kOps))]};
  if (step.op == PixelOp::posterize) step.value[0] = static_cast<double>(random.below(9));
  if (step.op == PixelOp::solarize) step.value[0] = random.uniform(0, 257);
  if (step.op == PixelOp::solarize_add) {
    step.value = {static_cast<double>(random.below(256)), static_cast<double>(random.below(257))};
  }
  if (kind_of(step.op) == PixelKind::places) random_warp(step, random, image);
  return step;
}

}  // namespace tundish
