// What a GPU is still to do to the pixels of a batch.
#pragma once

#include <vector>

#include "cuda/augment/gpu_erasure.h"
#include "cuda/augment/step_range.h"
#include "loader/engine/engine.h"

namespace tundish {

// Which of a sample's images are those of a view.
struct ImageRange {
  std::size_t first = 0, count = 1;
};
ImageRange images_of_view(const Recipe& recipe, std::size_t view);

// Of the images that the CPU decoded, then of the others; a range of each list for every image. No
// ranges: nothing is left but the table and mirroring.
struct StepsLeft {
  std::vector<cuda::StepRange> ranges, erased;
  std::vector<PixelStep> steps;
  std::vector<cuda::GpuErasure> erasures;
};
StepsLeft steps_left(const Batch& batch, const ImageRange& images, Dtype dtype);

// Whether there is anything, of any of these images.
bool has_pixels_left(const Slot& slot, const ImageRange& images);

}  // namespace tundish
