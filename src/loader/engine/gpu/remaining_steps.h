// The steps that a GPU must still apply to the pixels of a batch.
#pragma once

#include <vector>

#include "cuda/augment/gpu_erasure.h"
#include "cuda/augment/step_range.h"
#include "loader/engine/engine.h"

namespace tundish {

// The images of a view among the images of a sample.
struct ImageRange {
  std::size_t first = 0, count = 1;
};
ImageRange images_of_view(const Recipe& recipe, std::size_t view);

// Steps for the images decoded by the CPU, then for the others; one range of each list per image.
// No ranges: only the table and mirroring are left.
struct RemainingSteps {
  std::vector<cuda::StepRange> ranges, erased;
  std::vector<PixelStep> steps;
  std::vector<cuda::GpuErasure> erasures;
};
RemainingSteps remaining_steps(const Batch& batch, const ImageRange& images, Dtype dtype);

// Whether steps or erasures are left for any of these images.
bool gpu_changes_pixels(const Slot& slot, const ImageRange& images);

}  // namespace tundish
