// PixelSteps on the GPU: a block of threads runs all steps of one image. It works in the image's
// memory and a second buffer of the same size; some steps need more (step_scratch.h). Reference
// implementation: run_reference() (augment/pixels/pixel_runner.h).
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "base/image.h"
#include "cuda/augment/step_range.h"

namespace tundish::cuda {

// All pointers are to GPU memory.
struct PixelStepsTask {
  std::uint8_t* images = nullptr;        // count images of 8-bit RGB (H, W, C), contiguous
  std::uint8_t* other = nullptr;         // same size; contents are overwritten
  const StepRange* ranges = nullptr;     // one per image
  const std::uint32_t* order = nullptr;  // order of the images (step_order.h); null: unchanged
  const PixelStep* steps = nullptr;
  const float* normal = nullptr;  // normal_table()
  int count = 0;
  Size size;
  // scratch_bytes() per block if needs_scratch() (step_scratch.h), otherwise null. At most
  // scratch_blocks blocks run at once; each processes several images.
  std::byte* scratch = nullptr;
  int scratch_blocks = 0;
};

// Returns the number of blocks that the current device runs at once.
cudaError_t find_scratch_blocks(int& blocks);

// Enqueues the task.
cudaError_t run_pixel_steps(const PixelStepsTask& task, cudaStream_t stream);

}  // namespace tundish::cuda
