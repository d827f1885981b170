// torchvision CenterCrop: the middle; an image smaller than that is padded with zeros.
#pragma once

#include "augment/plan.h"

namespace tundish {

struct CenterCrop {
  Size size;
};

void center_crop(View& view, const CenterCrop& op);

}  // namespace tundish
