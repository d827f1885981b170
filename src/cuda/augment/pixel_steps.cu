#include "augment/pixels/levels/level_ops.h"
#include "cuda/augment/box_steps.cuh"
#include "cuda/augment/colour_steps.cuh"
#include "cuda/augment/gaussian_steps.cuh"
#include "cuda/augment/noise_steps.cuh"
#include "cuda/augment/pixel_steps.h"
#include "cuda/augment/statistic_steps.cuh"
#include "cuda/augment/warp_steps.cuh"

namespace tundish::cuda {
namespace {

__device__ void run_step(BlockImage& image, const PixelStep& step, const float* normal) {
  switch (kind_of(step.op)) {
    case PixelKind::levels:
      return change_table(image, [&](int, std::uint8_t level) { return level_after(step, level); });
    case PixelKind::colours:
      return colours(image, step);
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

__global__ void __launch_bounds__(kBlockThreads, 2)
    pixel_steps_kernel(const PixelStepsTask task, int space_bytes) {
  const std::size_t number = task.order ? task.order[blockIdx.x] : blockIdx.x;
  const StepRange range = task.ranges[number];
  if (range.count == 0) return;
  const std::size_t bytes =
      3 * static_cast<std::size_t>(task.size.width) * static_cast<std::size_t>(task.size.height);
  std::uint8_t* const home = task.images + number * bytes;
  BlockImage image{home, task.other + number * bytes, task.size, space_bytes};
  clear_table(image);
  for (std::uint32_t s = 0; s < range.count; ++s) {
    run_step(image, task.steps[range.first + s], task.normal);
    __syncthreads();
  }
  if (image.rgb == home) return apply_table(image);
  write_pixels(home, image, [](std::uint32_t pixel, int) { return pixel; });
}

// Shared memory that a block can have beside BlockMemory, kMostSpace at most.
cudaError_t find_space(int& space_bytes) {
  int device = 0, most = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error != cudaSuccess) return error;
  error = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  const int rest = (most - static_cast<int>(sizeof(BlockMemory))) / 1024 * 1024;
  space_bytes = rest < kMostSpace ? rest : kMostSpace;
  return error;
}

}  // namespace

cudaError_t run_pixel_steps(const PixelStepsTask& task, cudaStream_t stream) {
  static_assert(kLeastSpace + sizeof(BlockMemory) <= 64 * 1024);
  if (task.count == 0) return cudaSuccess;
  int space_bytes = 0;
  cudaError_t error = find_space(space_bytes);
  if (error != cudaSuccess) return error;
  error = cudaFuncSetAttribute(pixel_steps_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               space_bytes);
  if (error != cudaSuccess) return error;
  pixel_steps_kernel<<<static_cast<unsigned>(task.count), kBlockThreads,
                       static_cast<std::size_t>(space_bytes), stream>>>(task, space_bytes);
  return cudaGetLastError();
}

}  // namespace tundish::cuda
