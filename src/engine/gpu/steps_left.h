// What a GPU is still to do to the pixels of a batch.
#pragma once

#include <vector>

#include "cuda/augment/step_range.h"
#include "engine/engine.h"

namespace tundish {

// Of the images that the CPU decoded, then of the others. No ranges: nothing is left.
struct StepsLeft {
  std::vector<cuda::StepRange> ranges;
  std::vector<PixelStep> steps;
};
StepsLeft steps_left(const Batch& batch);

// Whether there are any, of an image of the slot.
bool has_steps_left(const Slot& slot);

}  // namespace tundish
