// torchvision RandomHorizontalFlip: mirrored with probability p.
#pragma once

#include "augment/plan.h"
#include "core/random.h"

namespace tundish {

struct RandomHorizontalFlip {
  double p = 0.5;
};

void random_horizontal_flip(View& view, const RandomHorizontalFlip& op, Random& random);

}  // namespace tundish
