// Operations on colours, and sharpness.
#pragma once

#include "augment/pixels/colours/colour_ops.h"
#include "augment/pixels/colours/sharpness_ops.h"
#include "cuda/augment/image_block.cuh"

namespace tundish::cuda {

// With an operation that the compiler knows, and numbers that stay in registers.
template <PixelOp kOp>
TUNDISH_STEP void change_colours(BlockImage& image, const PixelStep& given) {
  PixelStep step = given;
  step.op = kOp;
  change_pixels(image, [step](std::uint32_t pixel) { return colour_after(step, pixel); });
}

__device__ inline void colours(BlockImage& image, const PixelStep& step) {
  if (step.op == PixelOp::saturation) return change_colours<PixelOp::saturation>(image, step);
  if (step.op == PixelOp::hue) return change_colours<PixelOp::hue>(image, step);
  if (step.op == PixelOp::grayscale) return change_colours<PixelOp::grayscale>(image, step);
  change_colours<PixelOp::permute_channels>(image, step);
}

// A thread goes down a column of samples and keeps the sums of three neighbours of each row.
TUNDISH_STEP void sharpness(BlockImage& image, float factor) {
  constexpr int kRows = 14;  // that a thread makes
  apply_table(image);
  const int row = 3 * image.size.width, height = image.size.height;
  const std::uint8_t* const rgb = image.rgb;
  std::uint8_t* const other = image.other;
  const int runs = (height + kRows - 1) / kRows;
  for (int task = first_index(); task < row * runs; task += kBlockThreads) {
    const int run = task / row, at = task - run * row, first = run * kRows;
    const int end = min(first + kRows, height);
    const bool side = at < 3 || at >= row - 3;
    const std::uint8_t* from = rgb + std::ptrdiff_t{first} * row + at;
    std::uint8_t* to = other + std::ptrdiff_t{first} * row + at;
    const auto sum_of = [side](const std::uint8_t* p) { return side ? 0 : p[-3] + p[0] + p[3]; };
    int above = first > 0 ? sum_of(from - row) : 0, here = sum_of(from);
#pragma unroll 2
    for (int y = first; y < end; ++y, from += row, to += row) {
      const int below = y < height - 1 ? sum_of(from + row) : 0, level = *from;
      const bool border = side || y == 0 || y == height - 1;
      *to = border ? static_cast<std::uint8_t>(level)
                   : blend_levels(smoothed(above + here + below + 4 * level), level, factor);
      above = here;
      here = below;
    }
  }
  __syncthreads();
  exchange(image);
}

}  // namespace tundish::cuda
