#include "augment/pixels/levels/level_ops.h"
#include "cuda/augment/box_steps.cuh"
#include "cuda/augment/chain_steps.cuh"
#include "cuda/augment/color_steps.cuh"
#include "cuda/augment/elastic_steps.cuh"
#include "cuda/augment/gaussian_steps.cuh"
#include "cuda/augment/jpeg_steps.cuh"
#include "cuda/augment/noise_steps.cuh"
#include "cuda/augment/pixel_steps.h"
#include "cuda/augment/statistic_steps.cuh"
#include "cuda/augment/step_scratch.h"
#include "cuda/augment/tensor_steps.cuh"
#include "cuda/augment/warp_steps.cuh"

namespace tundish::cuda {
namespace {

__device__ void run_step(BlockImage& image, const PixelStep& step, const float* normal) {
  switch (kind_of(step.op)) {
    case PixelKind::levels:
      return change_table(image, [&](int, std::uint8_t level) { return level_after(step, level); });
    case PixelKind::colors:
      return colors(image, step);
    case PixelKind::statistics:
      return statistics(image, step);
    case PixelKind::neighbors:
      if (step.op == PixelOp::gaussian_blur) return gaussian_blur(image, step);
      if (step.op == PixelOp::box_blur) return box_blur(image, step);
      if (step.op == PixelOp::jpeg) return jpeg(image, static_cast<int>(step.value[0]));
      return sharpness(image, static_cast<float>(step.value[0]));
    case PixelKind::places:
      return step.op == PixelOp::elastic ? elastic(image, step) : warp(image, step);
    case PixelKind::noise:
      if (step.op == PixelOp::noise) return add_noise(image, step, normal);
      return erase_levels(image, step, normal);
    case PixelKind::tensors:
      return tensors(image, step);
    case PixelKind::mix:
      return mix_chains(image, step);
  }
}

__device__ void run_image(const PixelStepsTask& task, std::size_t number, int space_bytes) {
  const StepRange range = task.ranges[number];
  if (range.count == 0) return;
  const std::size_t bytes =
      3 * static_cast<std::size_t>(task.size.width) * static_cast<std::size_t>(task.size.height);
  std::uint8_t* const home = task.images + number * bytes;
  BlockImage image{home, task.other + number * bytes, task.size, space_bytes};
  if (task.scratch) {
    std::byte* const own = task.scratch + blockIdx.x * scratch_bytes(task.size);
    image.floats = reinterpret_cast<float*>(own);
    image.kept = reinterpret_cast<std::uint8_t*>(image.floats + scratch_floats(task.size));
  }
  clear_table(image);
  for (std::uint32_t s = 0; s < range.count; ++s) {
    run_step(image, task.steps[range.first + s], task.normal);
    __syncthreads();
  }
  if (image.rgb == home) return apply_table(image);
  write_pixels(home, image, [](std::uint32_t pixel, int) { return pixel; });
}

__global__ void __launch_bounds__(kBlockThreads, 2)
    pixel_steps_kernel(const PixelStepsTask task, int space_bytes) {
  const auto count = static_cast<unsigned>(task.count);
  for (unsigned next = blockIdx.x; next < count; next += gridDim.x) {
    run_image(task, task.order ? task.order[next] : next, space_bytes);
  }
}

// Finds the shared memory available to a block besides BlockMemory, at most kMaxSpace.
cudaError_t find_space(int& space_bytes) {
  int device = 0, most = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error != cudaSuccess) return error;
  error = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  const int rest = (most - static_cast<int>(sizeof(BlockMemory))) / 1024 * 1024;
  space_bytes = rest < kMaxSpace ? rest : kMaxSpace;
  return error;
}

// Sets up a launch: shared memory size and function attributes.
cudaError_t prepare_launch(int& space_bytes) {
  const cudaError_t error = find_space(space_bytes);
  if (error != cudaSuccess) return error;
  return cudaFuncSetAttribute(pixel_steps_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              space_bytes);
}

}  // namespace

cudaError_t find_scratch_blocks(int& blocks) {
  int device = 0, processors = 0, space_bytes = 0, each = 0;
  cudaError_t error = prepare_launch(space_bytes);
  if (error == cudaSuccess) error = cudaGetDevice(&device);
  if (error == cudaSuccess) {
    error = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  }
  if (error == cudaSuccess) {
    error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, pixel_steps_kernel, kBlockThreads,
                                                          static_cast<std::size_t>(space_bytes));
  }
  blocks = each > 0 ? each * processors : 1;
  return error;
}

cudaError_t run_pixel_steps(const PixelStepsTask& task, cudaStream_t stream) {
  static_assert(kMinSpace + sizeof(BlockMemory) <= 64 * 1024);
  if (task.count == 0) return cudaSuccess;
  int space_bytes = 0;
  const cudaError_t error = prepare_launch(space_bytes);
  if (error != cudaSuccess) return error;
  const int blocks =
      task.scratch && task.scratch_blocks < task.count ? task.scratch_blocks : task.count;
  pixel_steps_kernel<<<static_cast<unsigned>(blocks), kBlockThreads,
                       static_cast<std::size_t>(space_bytes), stream>>>(task, space_bytes);
  return cudaGetLastError();
}

}  // namespace tundish::cuda
