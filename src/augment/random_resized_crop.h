// torchvision RandomResizedCrop: a random part of random aspect ratio, resized to one size.
#pragma once

#include <array>

#include "augment/plan.h"
#include "core/random.h"

namespace tundish {

struct RandomResizedCrop {
  Size size;
  std::array<double, 2> scale = {0.08, 1.0};
  std::array<double, 2> ratio = {3.0 / 4.0, 4.0 / 3.0};
  Filter filter = Filter::bilinear;
};

void random_resized_crop(View& view, const RandomResizedCrop& op, Random& random);

}  // namespace tundish
