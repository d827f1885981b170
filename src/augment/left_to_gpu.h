// What a GPU is still to do to an image of 8-bit levels: the last steps of its plan, as far as a
// GPU does them, then the table of values, then erasing. Mirroring is left to it only where no
// steps are.
#pragma once

#include <vector>

#include "augment/erasure.h"
#include "augment/pixels/pixel_step.h"

namespace tundish {

struct LeftToGpu {
  bool mirror = false;  // from left to right
  std::vector<PixelStep> steps;
  std::vector<Erasure> erasures;

  // Whether the levels must be there before the table is applied.
  bool changes_pixels() const { return !steps.empty() || !erasures.empty(); }
};

}  // namespace tundish
