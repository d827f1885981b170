// Describes the mixing of a batch for the GPU.
#pragma once

#include <vector>

#include "cuda/augment/gpu_mix.h"
#include "loader/engine/engine.h"

namespace tundish {

// Returns one entry per sample of the batch; empty if nothing is mixed.
std::vector<cuda::GpuMix> gpu_mixes(const Batch& batch);

}  // namespace tundish
