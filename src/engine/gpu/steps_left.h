// What a GPU is still to do to the pixels of a batch.
#pragma once

#include <vector>

#include "cuda/augment/gpu_erasure.h"
#include "cuda/augment/step_range.h"
#include "engine/engine.h"

namespace tundish {

// Of the images that the CPU decoded, then of the others; a range of each list for every image. No
// ranges: nothing is left but the table and mirroring.
struct StepsLeft {
  std::vector<cuda::StepRange> ranges, erased;
  std::vector<PixelStep> steps;
  std::vector<cuda::GpuErasure> erasures;
};
StepsLeft steps_left(const Batch& batch, Dtype dtype);

// Whether there is anything, of an image of the slot.
bool has_pixels_left(const Slot& slot);

}  // namespace tundish
