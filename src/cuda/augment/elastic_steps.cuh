// Elastic: for each axis, random numbers are generated in shared memory, tile by tile, and blurred
// across. The sums are stored in the block's floats and blurred down. Each pixel is then sampled at
// the position given by its two displacements.
#pragma once

#include "augment/pixels/tensors/elastic_ops.h"
#include "cuda/augment/gaussian_steps.cuh"
#include "cuda/augment/tensor_steps.cuh"

namespace tundish::cuda {

// Tile shape: one row per lane, kRun columns per warp.
inline constexpr int kFieldRows = 32;
inline constexpr int kFieldColumns = kRun * kBlockWarps;
static_assert(kMinSpace >= kFieldRows * (kFieldColumns + kMaxGaussianKernel) * 4);

// PadMode::reflect for indices less than n outside; other indices return some valid index.
__device__ inline int reflected(int i, int n) { return max(n - 1 - abs(n - 1 - abs(i)), 0); }

// One tile of an axis' random numbers: `rows` rows from `top`, `columns` columns from `left`.
struct FieldTile {
  int left, top, columns, rows;
  int pitch;  // row pitch in block_space; odd, so that a column spans all banks
};

// Fills the tile with `reach` more numbers on both sides, rounded up to whole runs.
__device__ inline void make_numbers(float* tile, const FieldTile& part, std::uint64_t key, int axis,
                                    int width, int reach) {
  const int length = (part.columns + kRun - 1) / kRun * kRun + 2 * reach;
  for (int row = warp_index(); row < part.rows; row += kBlockWarps) {
    const int first = (part.top + row) * width;
    for (int i = lane_index(); i < length; i += 32) {
      const int number = first + reflected(part.left - reach + i, width);
      tile[row * part.pitch + i] =
          elastic_number(pixel_bits(key, static_cast<std::uint64_t>(number)), axis);
    }
  }
  __syncthreads();
}

// Works in place: the sums overwrite the first numbers of each row.
__device__ inline void sum_numbers(float* tile, const FieldTile& part, const Taps& taps) {
  const int row = lane_index(), x = kRun * warp_index();
  const bool has_run = row < part.rows && x < part.columns;
  float* const line = tile + row * part.pitch + x;
  float sum[kRun] = {};
  if (has_run) sum_run(sum, taps, [line, &taps](int i) { return line[taps.reach + i]; });
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kRun; ++k) {
    if (has_run) line[k] = sum[k];
  }
  __syncthreads();
}

// Writes an axis' random numbers, blurred across, as an image of floats.
TUNDISH_STEP void field_across(float* to, const BlockImage& image, std::uint64_t key, int axis) {
  const Taps& taps = block_memory.across;
  const int width = image.size.width, height = image.size.height;
  float* const tile = reinterpret_cast<float*>(block_space);
  FieldTile part{0, 0, 0, 0, kFieldColumns + 2 * taps.reach + 1};
  for (part.top = 0; part.top < height; part.top += kFieldRows) {
    part.rows = min(kFieldRows, height - part.top);
    for (part.left = 0; part.left < width; part.left += kFieldColumns) {
      part.columns = min(kFieldColumns, width - part.left);
      make_numbers(tile, part, key, axis, width, taps.reach);
      sum_numbers(tile, part, taps);
      for (int row = warp_index(); row < part.rows; row += kBlockWarps) {
        float* const line = to + (part.top + row) * width + part.left;
        for (int i = lane_index(); i < part.columns; i += 32) line[i] = tile[row * part.pitch + i];
      }
      __syncthreads();
    }
  }
}

// Blurs down. Neighboring threads process neighboring columns.
TUNDISH_STEP void field_down(float* to, const float* from, Size size) {
  const Taps& taps = block_memory.down;
  const int width = size.width, height = size.height;
  const int tasks = (height + kRun - 1) / kRun * width;
  for (int task = first_index(); task < tasks; task += kBlockThreads) {
    const int run = task / width, x = task - run * width, y = run * kRun;
    const float* const column = from + x;
    float sum[kRun];
    if (y >= taps.reach && y + kRun - 1 + taps.reach < height) {
      sum_run(sum, taps, [=](int i) { return column[(y + i) * width]; });
    } else {
      sum_run(sum, taps, [=](int i) { return column[reflected(y + i, height) * width]; });
    }
#pragma unroll
    for (int k = 0; k < kRun; ++k) {
      if (y + k < height) to[(y + k) * width + x] = sum[k];
    }
  }
  __syncthreads();
}

template <Filter kFilter, bool kWords>
TUNDISH_STEP void elastic_sample(BlockImage& image, const PixelStep& step, const float* field_x,
                                 const float* field_y) {
  const Size size = image.size;
  const ElasticLine across = elastic_line(step, 0, size.width);
  const ElasticLine down = elastic_line(step, 1, size.height);
  sample_places<kFilter, kWords>(image, step, [=](int x, int y) {
    const int at = y * size.width + x;
    return TensorSpot{elastic_place(across, x, field_x[at]), elastic_place(down, y, field_y[at])};
  });
}

TUNDISH_STEP void elastic(BlockImage& image, const PixelStep& step) {
  apply_table(image);
  const std::size_t pixels = static_cast<std::size_t>(image.pixels());
  float* const sums = image.floats + 2 * pixels;
  for (int axis = 0; axis < 2; ++axis) {
    Taps& taps = threadIdx.x == 0 ? block_memory.across : block_memory.down;
    if (threadIdx.x == 0 || threadIdx.x == 32) {
      const int kernel = elastic_kernel(step.value[2 + axis]);
      taps.reach = gaussian_weights(taps.weight, kernel, step.value[threadIdx.x == 0 ? 4 : 5]) - 1;
    }
    __syncthreads();
    field_across(sums, image, step.key, axis);
    field_down(image.floats + static_cast<std::size_t>(axis) * pixels, sums, image.size);
  }
  const float *x = image.floats, *y = image.floats + pixels;
  const bool words = pixels % 4 == 0;
  if (step.filter == Filter::nearest) {
    return words ? elastic_sample<Filter::nearest, true>(image, step, x, y)
                 : elastic_sample<Filter::nearest, false>(image, step, x, y);
  }
  words ? elastic_sample<Filter::bilinear, true>(image, step, x, y)
        : elastic_sample<Filter::bilinear, false>(image, step, x, y);
}

}  // namespace tundish::cuda
