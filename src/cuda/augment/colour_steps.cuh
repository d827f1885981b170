// Operations on colours, and those whose table depends on all pixels; sharpness.
#pragma once

#include "augment/pixels/colours/colour_ops.h"
#include "augment/pixels/colours/sharpness_ops.h"
#include "augment/pixels/levels/level_ops.h"
#include "augment/pixels/levels/statistics_ops.h"
#include "cuda/augment/image_block.cuh"

namespace tundish::cuda {

// How often each level of each channel comes, after the table.
__device__ inline void count_levels(BlockImage& image) {
  auto& counts = image.memory->counts;
  for (int i = first_index(); i < 3 * 256; i += kBlockThreads) counts[i / 256][i % 256] = 0;
  __syncthreads();
  for (int i = first_index(); i < image.pixels(); i += kBlockThreads) {
    const std::uint32_t pixel = load_pixel(image, i);
    for (int c = 0; c < 3; ++c) atomicAdd(&counts[c][pixel >> (8 * c) & 0xff], 1u);
  }
  __syncthreads();
}

__device__ inline void contrast(BlockImage& image, float factor) {
  BlockMemory& memory = *image.memory;
  if (threadIdx.x == 0) memory.sum = 0;
  __syncthreads();
  unsigned sum = 0;
  for (int i = first_index(); i < image.pixels(); i += kBlockThreads) {
    const std::uint32_t pixel = load_pixel(image, i);
    sum += grey_level(static_cast<int>(pixel & 0xff), static_cast<int>(pixel >> 8 & 0xff),
                      static_cast<int>(pixel >> 16));
  }
  for (int far = 16; far > 0; far /= 2) sum += __shfl_down_sync(0xffffffffu, sum, far);
  if (threadIdx.x % 32 == 0) atomicAdd(&memory.sum, static_cast<unsigned long long>(sum));
  __syncthreads();
  const int mean = mean_grey(memory.sum, static_cast<std::uint64_t>(image.pixels()));
  change_table(image, [=](int, std::uint8_t level) { return blend_levels(mean, level, factor); });
}

__device__ inline void autocontrast(BlockImage& image) {
  count_levels(image);
  const auto& counts = image.memory->counts;
  change_table(image, [&](int c, std::uint8_t level) {
    int low = 0, high = 255;
    while (low < 255 && counts[c][low] == 0) ++low;
    while (high > 0 && counts[c][high] == 0) --high;
    return autocontrast_level(level, low, high);
  });
}

__device__ inline void equalize(BlockImage& image) {
  count_levels(image);
  const auto& counts = image.memory->counts;
  const auto pixels = static_cast<std::uint32_t>(image.pixels());
  change_table(image, [&](int c, std::uint8_t level) {
    int high = 255;
    while (high > 0 && counts[c][high] == 0) --high;
    const std::uint32_t step = equalize_step(pixels, counts[c][high]);
    if (step == 0) return level;
    std::uint64_t below = 0;
    for (int i = 0; i < level; ++i) below += counts[c][i];
    return equalize_level(below, step);
  });
}

__device__ inline void statistics(BlockImage& image, const PixelStep& step) {
  if (step.op == PixelOp::contrast) return contrast(image, static_cast<float>(step.value[0]));
  if (step.op == PixelOp::autocontrast) return autocontrast(image);
  equalize(image);
}

__device__ inline void sharpness(BlockImage& image, float factor) {
  const int width = image.size.width, height = image.size.height;
  apply_table(image);
  const std::uint8_t* rgb = image.rgb;
  make_pixels(image, [=](int x, int y) {
    std::uint32_t out = 0;
    const bool border = x == 0 || y == 0 || x == width - 1 || y == height - 1;
    const std::uint8_t* here = rgb + std::ptrdiff_t{3} * (y * width + x);
    const std::ptrdiff_t row = std::ptrdiff_t{3} * width;
    for (int c = 0; c < 3; ++c, ++here) {
      int level = *here;
      if (!border) {
        int sum = 4 * level;
        for (int dy = -1; dy <= 1; ++dy) {
          for (int dx = -3; dx <= 3; dx += 3) sum += here[dy * row + dx];
        }
        level = blend_levels(smoothed(sum), level, factor);
      }
      out |= static_cast<std::uint32_t>(level) << (8 * c);
    }
    return out;
  });
}

}  // namespace tundish::cuda
