// torchvision RandomVerticalFlip: mirrored with probability p.
#pragma once

#include "augment/plan.h"
#include "core/random.h"

namespace tundish {

struct RandomVerticalFlip {
  double p = 0.5;
};

void random_vertical_flip(View& view, const RandomVerticalFlip& op, Random& random);

}  // namespace tundish
