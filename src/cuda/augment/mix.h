// Mixing on the GPU: 8-bit levels of an image and of its partner become elements of the batch's
// type, labels become vectors. augment/mix_reference.h is its twin.
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
  const GpuMix* mixes = nullptr;          // one for each image of the batch
  const std::uint8_t* levels = nullptr;   // of images that the CPU decoded
  const std::uint8_t* decoded = nullptr;  // of images that the GPU decoded
  const std::uint32_t* errors = nullptr;  // of these: kNoError, or else the image is zeros
  const std::uint32_t* table = nullptr;   // value[3][256] of a PixelTable of float32
  const StepRange* erased = nullptr;      // of `erasures`: of the levels, then of the decoded ones
  const GpuErasure* erasures = nullptr;   // float32; null: nothing is erased
  const float* normal = nullptr;          // normal_table()
  void* out = nullptr;
  float* labels = nullptr;  // (count, classes); null: not wanted
  Dtype dtype = Dtype::float32;
  int channels = 3;  // 1: the first one alone is stored
  bool channels_first = false;
  int count = 0, width = 0, height = 0;
  int level_count = 0;  // images of `levels`
  int classes = 0;
  float on = 1, off = 0;  // of a label: its class, and the others
};

// Enqueues the task.
cudaError_t mix(const MixTask& task, cudaStream_t stream);

}  // namespace tundish::cuda
