// How the images of a batch are mixed, as the GPU takes it.
#pragma once

#include <vector>

#include "cuda/augment/gpu_mix.h"
#include "loader/engine/engine.h"

namespace tundish {

// One for each sample of the batch; none when nothing is mixed.
std::vector<cuda::GpuMix> gpu_mixes(const Batch& batch);

}  // namespace tundish
