// PixelSteps on the GPU: a block of threads carries out all steps of one image, in the image's own
// memory and in another one of its size; some steps need more (step_scratch.h). Its twin is
// run_reference() (augment/pixels/pixel_runner.h).
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "base/image.h"
#include "cuda/augment/step_range.h"

namespace tundish::cuda {

// All pointers are to GPU memory.
struct PixelStepsTask {
  std::uint8_t* images = nullptr;        // count images of 8-bit RGB (H, W, C), one after the other
  std::uint8_t* other = nullptr;         // as many bytes; what they hold does not matter
  const StepRange* ranges = nullptr;     // one per image
  const std::uint32_t* order = nullptr;  // of the images (step_order.h); null: as they are
  const PixelStep* steps = nullptr;
  const float* normal = nullptr;  // normal_table()
  int count = 0;
  Size size;
  // scratch_bytes() for each block where needs_scratch() (step_scratch.h), otherwise null. No more
  // blocks run at once; each goes from image to image.
  std::byte* scratch = nullptr;
  int scratch_blocks = 0;
};

// As many blocks as the current device runs at once.
cudaError_t find_scratch_blocks(int& blocks);

// Enqueues it.
cudaError_t run_pixel_steps(const PixelStepsTask& task, cudaStream_t stream);

}  // namespace tundish::cuda
