// The last step for images that the CPU decoded, on the GPU: converts 8-bit levels (N, H, W, 3) to
// the batch's element type through the table that the CPU's Store uses (augment/cpu/store.h). Also
// applies pending mirroring and writes each image to its place in the batch.
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
  const std::uint8_t* levels = nullptr;   // aligned to 4 bytes
  const Target* targets = nullptr;        // one per image
  const std::uint32_t* errors = nullptr;  // kNoError, or the image becomes zeros; null: no errors
  const std::uint32_t* table = nullptr;   // value[3][256] of a PixelTable
  const StepRange* erased = nullptr;      // range in `erasures`, one per image; null: no erasing
  const GpuErasure* erasures = nullptr;
  const float* normal = nullptr;  // normal_table()
  void* out = nullptr;            // aligned to 16 bytes
  Dtype dtype = Dtype::uint8;
  int channels = 3;                      // 1: stores only the first channel
  bool channels_first = false;           // N, C, H, W in memory; otherwise N, H, W, C
  int count = 0, width = 0, height = 0;  // size of the images in levels
};

// Enqueues the task.
cudaError_t finish(const FinishTask& task, cudaStream_t stream);

}  // namespace tundish::cuda
