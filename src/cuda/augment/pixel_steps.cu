#include "augment/pixels/level_ops.h"
#include "cuda/augment/pixel_steps.h"

namespace tundish::cuda {
namespace {

constexpr int kThreads = 512;

// One image and the block that works on it.
struct Image {
  std::uint8_t* rgb;
  int bytes;
  std::uint8_t (*table)[256];  // of levels that are not written yet; in shared memory
  bool pending;                // the table is not the identity
};

__device__ void clear_table(Image& image) {
  for (int i = static_cast<int>(threadIdx.x); i < 256; i += kThreads) {
    for (int c = 0; c < 3; ++c) image.table[c][i] = static_cast<std::uint8_t>(i);
  }
  image.pending = false;
}

// Every thread changes the levels that it set.
__device__ void merge_levels(Image& image, const PixelStep& step) {
  for (int i = static_cast<int>(threadIdx.x); i < 256; i += kThreads) {
    for (int c = 0; c < 3; ++c) image.table[c][i] = level_after(step, image.table[c][i]);
  }
  image.pending = true;
}

__device__ void apply_table(Image& image) {
  if (!image.pending) return;
  __syncthreads();
  if (image.bytes % 4 == 0) {  // and so does every image begin at a word
    auto* words = reinterpret_cast<std::uint32_t*>(image.rgb);
    for (int w = static_cast<int>(threadIdx.x); w < image.bytes / 4; w += kThreads) {
      const std::uint32_t word = words[w];
      std::uint32_t out = 0;
#pragma unroll
      for (int b = 0; b < 4; ++b) {
        out |= std::uint32_t{image.table[(w + b) % 3][word >> (8 * b) & 0xff]} << (8 * b);
      }
      words[w] = out;
    }
  } else {
    for (int i = static_cast<int>(threadIdx.x); i < image.bytes; i += kThreads) {
      image.rgb[i] = image.table[i % 3][image.rgb[i]];
    }
  }
  __syncthreads();
  clear_table(image);
}

__global__ void __launch_bounds__(kThreads) pixel_steps_kernel(const PixelStepsTask task) {
  __shared__ std::uint8_t table[3][256];
  const StepRange range = task.ranges[blockIdx.x];
  if (range.count == 0) return;
  const int bytes = 3 * task.size.width * task.size.height;
  Image image{task.images + std::size_t{blockIdx.x} * static_cast<std::size_t>(bytes), bytes, table,
              false};
  clear_table(image);
  for (std::uint32_t s = 0; s < range.count; ++s) {
    const PixelStep& step = task.steps[range.first + s];
    if (kind_of(step.op) == PixelKind::levels) merge_levels(image, step);
  }
  apply_table(image);
}

}  // namespace

cudaError_t run_pixel_steps(const PixelStepsTask& task, cudaStream_t stream) {
  if (task.count == 0) return cudaSuccess;
  pixel_steps_kernel<<<static_cast<unsigned>(task.count), kThreads, 0, stream>>>(task);
  return cudaGetLastError();
}

}  // namespace tundish::cuda
