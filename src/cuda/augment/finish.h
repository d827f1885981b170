// The last step of images that the CPU decoded, on the GPU: 8-bit levels (N, H, W, 3) become
// elements of the batch's type through the table that the CPU's Store uses (augment/cpu/store.h),
// mirrored where the plan mirrors, at their place in the batch.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "augment/pixel_table.h"
#include "cuda/augment/gpu_erasure.h"
#include "cuda/augment/step_range.h"
#include "cuda/augment/target.h"

namespace tundish::cuda {

// All pointers are to GPU memory.
struct FinishTask {
  const std::uint8_t* levels = nullptr;  // aligned to 4 bytes
  const Target* targets = nullptr;       // one per image
  const std::uint32_t* errors =
      nullptr;                           // one per image, kNoError or else it is zeros; may be null
  const std::uint32_t* table = nullptr;  // value[3][256] of a PixelTable
  const StepRange* erased = nullptr;     // of `erasures`, one per image; null: nothing is erased
  const GpuErasure* erasures = nullptr;
  const float* normal = nullptr;  // normal_table()
  void* out = nullptr;            // aligned to 16 bytes
  Dtype dtype = Dtype::uint8;
  int channels = 3;                      // 1: the first one alone is stored
  bool channels_first = false;           // N, C, H, W in memory; otherwise N, H, W, C
  int count = 0, width = 0, height = 0;  // of the images of levels
};

// Enqueues the task.
cudaError_t finish(const FinishTask& task, cudaStream_t stream);

}  // namespace tundish::cuda
