// torchvision Resize: to a size, or the shorter side to a length.
#pragma once

#include "augment/plan.h"

namespace tundish {

struct Resize {
  Size size;         // height == 0: `width` is the length of the shorter side
  int max_size = 0;  // with a shorter side: the longer one is at most this; 0 for no limit
  Filter filter = Filter::bilinear;
};

void resize(View& view, const Resize& op);

}  // namespace tundish
