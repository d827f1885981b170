// Blurs.
#pragma once

#include "augment/filter.h"
#include "augment/pixels/blur/blur_ops.h"
#include "cuda/augment/image_block.cuh"

namespace tundish::cuda {

// The weights of a kernel along one axis.
struct Taps {
  float weight[kMaxGaussianKernel / 2 + 1];
  int reach;
};

__device__ inline float sum_across(const BlockImage& image, const Taps& taps, int x, int y, int c) {
  const int width = image.size.width;
  const std::uint8_t* row = image.rgb + std::ptrdiff_t{3} * width * y + c;
  return gaussian_sum(taps.weight, taps.reach, [&](int d) {
    return static_cast<float>(row[3 * padded_index(x + d, width, PadMode::reflect)]);
  });
}

// Into image.other, without a band: every sum across is made again for each row that needs it. For
// images that are so wide that no band fits.
__device__ inline void blur_wide(BlockImage& image, const Taps& across, const Taps& down) {
  const int height = image.size.height, row = 3 * image.size.width;
  for (int i = first_index(); i < row * height; i += kBlockThreads) {
    const int y = i / row, at = i - y * row;
    image.other[i] = level_of_sum(gaussian_sum(down.weight, down.reach, [&](int d) {
      return sum_across(image, across, at / 3, padded_index(y + d, height, PadMode::reflect),
                        at % 3);
    }));
  }
  __syncthreads();
}

// Bands of rows: the sums across of a band and of the rows around it are in shared memory.
__device__ inline void gaussian_blur(BlockImage& image, const PixelStep& step) {
  __shared__ Taps across, down;
  apply_table(image);
  if (threadIdx.x == 0) {
    across.reach =
        gaussian_weights(across.weight, static_cast<int>(step.value[0]), step.value[4]) - 1;
  } else if (threadIdx.x == 32) {
    down.reach = gaussian_weights(down.weight, static_cast<int>(step.value[1]), step.value[5]) - 1;
  }
  __syncthreads();
  const int height = image.size.height, row = 3 * image.size.width, reach = down.reach;
  const int rows = kBandFloats / row - 2 * reach;  // of a band
  if (rows < 1) blur_wide(image, across, down);
  float* const band = image.band;
  for (int top = 0; rows >= 1 && top < height; top += rows) {
    const int made = min(rows, height - top);
    for (int i = first_index(); i < (made + 2 * reach) * row; i += kBlockThreads) {
      const int y = i / row, at = i - y * row;
      const int from = padded_index(top - reach + y, height, PadMode::reflect);
      band[i] = sum_across(image, across, at / 3, from, at % 3);
    }
    __syncthreads();
    for (int i = first_index(); i < made * row; i += kBlockThreads) {
      const float* middle = band + reach * row + i;
      image.other[top * row + i] =
          level_of_sum(gaussian_sum(down.weight, reach, [&](int d) { return middle[d * row]; }));
    }
    __syncthreads();
  }
  exchange(image);
}

// One of Pillow's six passes.
__device__ inline void box_pass(BlockImage& image, const Box& box, bool is_across) {
  const int width = image.size.width, height = image.size.height, row = 3 * width;
  const int step = is_across ? 3 : row, n = is_across ? width : height;
  for (int i = first_index(); i < row * height; i += kBlockThreads) {
    const int y = i / row, x = (i - y * row) / 3, place = is_across ? x : y;
    const std::uint8_t* line = image.rgb + i - place * step;
    const auto read = [&](int at) { return std::uint32_t{line[min(max(at, 0), n - 1) * step]}; };
    std::uint32_t inside = 0;
    for (int at = place - box.radius; at <= place + box.radius; ++at) inside += read(at);
    image.other[i] =
        box_level(box, inside, read(place - box.radius - 1) + read(place + box.radius + 1));
  }
  __syncthreads();
  exchange(image);
}

__device__ inline void box_blur(BlockImage& image, const PixelStep& step) {
  apply_table(image);
  const Box box = box_of(step.value[0]);
  for (int pass = 0; pass < 2 * kBoxPasses; ++pass) box_pass(image, box, pass < kBoxPasses);
}

}  // namespace tundish::cuda
