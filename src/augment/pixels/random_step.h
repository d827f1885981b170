// Any operation on pixels with any numbers, for tests.
#pragma once

#include "augment/pixels/pixel_step.h"
#include "augment/pixels/random_warp.h"
#include "core/random.h"

namespace tundish {

// The numbers of an operation on colours or of sharpness.
inline void set_random_colours(PixelStep& step, Random& random) {
  switch (step.op) {
    case PixelOp::brightness:
    case PixelOp::saturation:
    case PixelOp::contrast:
    case PixelOp::sharpness:
      step.value[0] = random.below(4) == 0 ? static_cast<double>(random.below(3)) * 0.5
                                           : random.uniform(0, random.below(2) == 0 ? 1 : 8);
      break;
    case PixelOp::hue:
      step.value[0] = static_cast<double>(random.below(256));
      break;
    case PixelOp::permute_channels: {
      const auto first = random.below(3), second = (first + 1 + random.below(2)) % 3;
      step.value = {static_cast<double>(first), static_cast<double>(second),
                    static_cast<double>(3 - first - second)};
      break;
    }
    default:
      break;
  }
}

// One of the operations that have an executor; the rest come with theirs.
inline PixelStep random_step(Random& random, Size image) {
  constexpr PixelOp kOps[] = {
      PixelOp::invert,       PixelOp::posterize,    PixelOp::solarize,         PixelOp::brightness,
      PixelOp::saturation,   PixelOp::hue,          PixelOp::grayscale,        PixelOp::contrast,
      PixelOp::equalize,     PixelOp::solarize_add, PixelOp::permute_channels, PixelOp::sharpness,
      PixelOp::autocontrast, PixelOp::affine,       PixelOp::perspective,
  };
  PixelStep step{.op = kOps[random.below(std::size(kOps))]};
  if (step.op == PixelOp::posterize) step.value[0] = static_cast<double>(random.below(9));
  if (step.op == PixelOp::solarize) step.value[0] = random.uniform(0, 257);
  if (step.op == PixelOp::solarize_add) {
    step.value = {static_cast<double>(random.below(256)), static_cast<double>(random.below(257))};
  }
  set_random_colours(step, random);
  if (kind_of(step.op) == PixelKind::places) random_warp(step, random, image);
  return step;
}

}  // namespace tundish
