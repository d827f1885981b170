// The range of one image's steps among the PixelSteps of a batch.
#pragma once

#include <cstdint>

#include "augment/pixels/pixel_step.h"

namespace tundish::cuda {

struct StepRange {
  std::uint32_t first = 0, count = 0;
};

}  // namespace tundish::cuda
