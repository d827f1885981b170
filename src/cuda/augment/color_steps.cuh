// Operations on colors, and sharpness.
#pragma once

#include "augment/pixels/colors/color_ops.h"
#include "augment/pixels/colors/sharpness_ops.h"
#include "cuda/augment/image_block.cuh"

namespace tundish::cuda {

// Takes the operation as a compile-time constant and keeps the step's values in registers.
template <PixelOp kOp>
TUNDISH_STEP void change_colors(BlockImage& image, const PixelStep& given) {
  PixelStep step = given;
  step.op = kOp;
  change_pixels(image, [step](std::uint32_t pixel, int) { return color_after(step, pixel); });
}

// Hue uses approximate quotients. Values that depend on the hue come from tables that all lanes can
// read at once.
template <>
__device__ void change_colors<PixelOp::hue>(BlockImage& image, const PixelStep& step) {
  const int added = static_cast<int>(step.value[0]);
  BlockMemory& memory = block_memory;
  if (threadIdx.x < 8) {
    memory.hue_below[threadIdx.x] = hue_below(static_cast<int>(threadIdx.x));
    memory.channel_order[threadIdx.x] = channel_order(static_cast<int>(threadIdx.x));
  }
  __syncthreads();
  change_pixels(image, [added, &memory](std::uint32_t pixel, int) {
    const int red = static_cast<int>(pixel & 0xff), green = static_cast<int>(pixel >> 8 & 0xff);
    const int blue = static_cast<int>(pixel >> 16);
    const int most = max(max(red, green), blue), chroma = most - min(min(red, green), blue);
    const float sixths = static_cast<float>(sixths_of(red, green, blue, most, chroma));
    const float parts = static_cast<float>(chroma);
    const int from = hue_from(__fdividef(42.5f * sixths, fmaxf(parts, 1.0f)), memory.hue_below);
    const int saturation =
        saturation_from(__fdividef(255.0f * parts, fmaxf(static_cast<float>(most), 1.0f)));
    const HueParts made = parts_of({(from + added) & 0xff, saturation, most});
    return __byte_perm(made.levels, 0, memory.channel_order[made.sixth]);
  });
}

__device__ inline void colors(BlockImage& image, const PixelStep& step) {
  if (step.op == PixelOp::saturation) return change_colors<PixelOp::saturation>(image, step);
  if (step.op == PixelOp::hue) return change_colors<PixelOp::hue>(image, step);
  if (step.op == PixelOp::grayscale) return change_colors<PixelOp::grayscale>(image, step);
  change_colors<PixelOp::permute_channels>(image, step);
}

// sharpened(level, sum) returns each level that is not at the border; `sum` is as in smoothed(). A
// thread walks down a column of samples and reads all samples before it writes, to hide memory
// latency.
template <class Sharpened>
__device__ void sharpen(BlockImage& image, const Sharpened& sharpened) {
  constexpr int kRows = 8;  // per thread
  apply_table(image);
  const int row = 3 * image.size.width, height = image.size.height;
  const std::uint8_t* const rgb = image.rgb;
  std::uint8_t* const other = image.other;
  const int runs = (height + kRows - 1) / kRows;
  for (int task = first_index(); task < row * runs; task += kBlockThreads) {
    const int run = task / row, at = task - run * row, first = run * kRows;
    const bool side = at < 3 || at >= row - 3;
    const std::ptrdiff_t begin = std::ptrdiff_t{first} * row + at;
    int level[kRows + 2], sum[kRows + 2];  // rows, starting one above the first
#pragma unroll
    for (int k = 0; k < kRows + 2; ++k) {
      const int y = first + k - 1;
      const std::uint8_t* from = rgb + begin + std::ptrdiff_t{k - 1} * row;
      const bool there = y >= 0 && y < height;
      level[k] = there ? *from : 0;
      sum[k] = there && !side ? from[-3] + from[3] : 0;
    }
#pragma unroll
    for (int k = 0; k < kRows + 2; ++k) sum[k] += level[k];
#pragma unroll
    for (int k = 1; k <= kRows; ++k) {
      const int y = first + k - 1;
      const bool border = side || y == 0 || y == height - 1;
      const int around = sum[k - 1] + sum[k] + sum[k + 1] + 4 * level[k];
      if (y < height) {
        other[begin + std::ptrdiff_t{k - 1} * row] =
            border ? static_cast<std::uint8_t>(level[k]) : sharpened(level[k], around);
      }
    }
  }
  __syncthreads();
  exchange(image);
}

TUNDISH_STEP void sharpness(BlockImage& image, float factor) {
  sharpen(image,
          [factor](int level, int sum) { return blend_levels(smoothed(sum), level, factor); });
}

}  // namespace tundish::cuda
