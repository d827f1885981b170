// Mixing on the GPU: combines the 8-bit levels of an image and its partner into elements of the
// batch's type; labels become vectors. Reference implementation: augment/mix_reference.h.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "augment/pixel_table.h"
#include "cuda/augment/gpu_erasure.h"
#include "cuda/augment/gpu_mix.h"
#include "cuda/augment/step_range.h"

namespace tundish::cuda {

// All pointers are to GPU memory.
struct MixTask {
  const GpuMix* mixes = nullptr;          // one per image of the batch
  const std::uint8_t* levels = nullptr;   // images decoded by the CPU
  const std::uint8_t* decoded = nullptr;  // images decoded by the GPU
  const std::uint32_t* errors = nullptr;  // for `decoded`; not kNoError: the image is zeros
  const std::uint32_t* table = nullptr;   // value[3][256] of a float32 PixelTable
  const StepRange* erased = nullptr;      // ranges in `erasures`: for `levels`, then for `decoded`
  const GpuErasure* erasures = nullptr;   // float32; null: nothing is erased
  const float* normal = nullptr;          // normal_table()
  void* out = nullptr;
  float* labels = nullptr;  // (count, classes); null: not wanted
  Dtype dtype = Dtype::float32;
  int channels = 3;  // 1: stores only the first channel
  bool channels_first = false;
  int count = 0, width = 0, height = 0;
  int level_count = 0;  // images in `levels`
  int classes = 0;
  float on = 1, off = 0;  // label values of the image's class and of all others
};

// Enqueues the task.
cudaError_t mix(const MixTask& task, cudaStream_t stream);

}  // namespace tundish::cuda
