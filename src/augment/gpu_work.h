// The work that remains for a GPU on an image of 8-bit levels, in this order: the last steps of its
// plan, as far as a GPU supports them; the table of values; erasing. Mirroring remains only if no
// steps remain.
#pragma once

#include <vector>

#include "augment/erasure.h"
#include "augment/pixels/pixel_step.h"

namespace tundish {

struct GpuWork {
  bool mirror = false;  // from left to right
  std::vector<PixelStep> steps;
  std::vector<Erasure> erasures;

  // Whether the levels must be in memory before the table is applied.
  bool changes_pixels() const { return !steps.empty() || !erasures.empty(); }
};

}  // namespace tundish
