#include "cuda/augment/blur_steps.cuh"
#include "cuda/augment/colour_steps.cuh"
#include "cuda/augment/noise_steps.cuh"
#include "cuda/augment/pixel_steps.h"
#include "cuda/augment/warp_steps.cuh"

namespace tundish::cuda {
namespace {

__device__ void run_step(BlockImage& image, const PixelStep& step, const float* normal) {
  switch (kind_of(step.op)) {
    case PixelKind::levels:
      return change_table(image, [&](int, std::uint8_t level) { return level_after(step, level); });
    case PixelKind::colours:
      return change_pixels(image, [&](std::uint32_t pixel) { return colour_after(step, pixel); });
    case PixelKind::statistics:
      return statistics(image, step);
    case PixelKind::neighbours:
      if (step.op == PixelOp::gaussian_blur) return gaussian_blur(image, step);
      if (step.op == PixelOp::box_blur) return box_blur(image, step);
      return sharpness(image, static_cast<float>(step.value[0]));
    case PixelKind::places:
      return warp(image, step);
    case PixelKind::noise:
      if (step.op == PixelOp::noise) return add_noise(image, step, normal);
      return erase_levels(image, step, normal);
    case PixelKind::tensors:  // steps_for_gpu() leaves these to the CPU
    case PixelKind::mix:
      return;
  }
}

__global__ void __launch_bounds__(kBlockThreads) pixel_steps_kernel(const PixelStepsTask task) {
  __shared__ BlockMemory memory;
  extern __shared__ float band[];
  const StepRange range = task.ranges[blockIdx.x];
  if (range.count == 0) return;
  const std::size_t bytes =
      3 * static_cast<std::size_t>(task.size.width) * static_cast<std::size_t>(task.size.height);
  std::uint8_t* const home = task.images + blockIdx.x * bytes;
  BlockImage image{home, task.other + blockIdx.x * bytes, task.size, &memory, band};
  clear_table(image);
  for (std::uint32_t s = 0; s < range.count; ++s) {
    if (threadIdx.x == 0) memory.step = task.steps[range.first + s];
    __syncthreads();
    run_step(image, memory.step, task.normal);
    __syncthreads();
  }
  if (image.rgb == home) return apply_table(image);
  for (int i = first_index(); i < image.pixels(); i += kBlockThreads) {
    store_pixel(home, i, load_pixel(image, i));
  }
}

}  // namespace

cudaError_t run_pixel_steps(const PixelStepsTask& task, cudaStream_t stream) {
  if (task.count == 0) return cudaSuccess;
  constexpr int kBytes = kBandFloats * sizeof(float);
  const cudaError_t set =
      cudaFuncSetAttribute(pixel_steps_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  if (set != cudaSuccess) return set;
  pixel_steps_kernel<<<static_cast<unsigned>(task.count), kBlockThreads, kBytes, stream>>>(task);
  return cudaGetLastError();
}

}  // namespace tundish::cuda
