// torchvision Resize: to a size, or the shorter side to a length.
#pragma once

#include "augment/plan.h"

namespace tundish {

struct Resize {
  Size size;         // height == 0: `width` is the length of the shorter side
  int max_size = 0;  // with a shorter side: the longer one is at most this; 0 for no limit
  Filter filter = Filter::bilinear;
};

// A result may be so wide before a crop makes it smaller; 32-bit arithmetic holds it easily.
constexpr int kMaxResizedSide = 1 << 26;

// Throws Error(argument) when a thin image would become longer than that.
void resize(View& view, const Resize& op);

}  // namespace tundish
