// Gaussian blur, one strip of columns at a time. Shared memory holds the strip's levels with their
// surroundings and, as floats, the horizontal sums; the vertical sums are written to the image.
#pragma once

#include "augment/filter.h"
#include "augment/pixels/blur/blur_ops.h"
#include "cuda/augment/image_block.cuh"

namespace tundish::cuda {

inline constexpr int kRun = 8;           // adjacent sums per thread
inline constexpr int kStripPixels = 16;  // a multiple of kRun and of 4
inline constexpr int kStripSamples = 3 * kStripPixels;
inline constexpr int kSumPitch = kStripSamples + 1;  // odd, so that a column spans all banks

// Computes gaussian_sum() of kRun neighbors, in the same order of additions. read(i) returns sample
// i, counted from the run's first. Register i % kRun holds sample i: two reads per distance.
template <class Read>
__device__ void sum_run(float (&sum)[kRun], const Taps& taps, const Read& read) {
  float before[kRun], after[kRun];
  const float middle = taps.weight[0];
#pragma unroll
  for (int k = 0; k < kRun; ++k) {
    before[k] = after[k] = read(k);
    sum[k] = middle * before[k];
  }
  for (int first = 1; first <= taps.reach; first += kRun) {
#pragma unroll
    for (int j = 0; j < kRun; ++j) {
      const int d = first + j;
      if (d > taps.reach) break;
      constexpr int kAhead = 2 * kRun;  // keeps the index positive
      before[(kAhead - 1 - j) % kRun] = read(-d);
      after[j] = read(kRun - 1 + d);
      const float weight = taps.weight[d];
#pragma unroll
      for (int k = 0; k < kRun; ++k) {
        sum[k] += weight * (before[(kAhead + k - 1 - j) % kRun] + after[(k + 1 + j) % kRun]);
      }
    }
  }
}

// Levels of a strip: `rows` rows from `top` on, with `halo` pixels on both sides.
struct StripLevels {
  std::uint8_t* levels;
  int halo;  // a multiple of 4, at least the horizontal reach, so that words stay aligned

  // 4 times an odd number, so that a column spans all banks.
  __device__ int pitch() const { return 3 * (kStripPixels + 2 * halo) + 4; }
  __device__ std::uint8_t* at(int row, int x) const {  // x: from the strip's first pixel
    return levels + row * pitch() + 3 * (halo + x);
  }

  // Starts loading; reads nothing outside the image.
  __device__ void load(const BlockImage& image, int left, int top, int rows) const {
    const int width = image.size.width;
    const int from = max(left - halo, 0), to = min(left + kStripPixels + halo, width);
    load_rows({at(0, from - left), pitch()},
              {image.rgb + std::ptrdiff_t{3} * (top * width + from), 3 * width}, 3 * (to - from),
              rows);
  }
  // Fills in the pixels outside the image that sums of `reach` need.
  __device__ void reflect(int width, int left, int rows, int reach) const {
    const int end = min(left + kStripPixels, width) + reach;
    if (left >= reach && end <= width) return;
    for (int row = first_index(); row < rows; row += kBlockThreads) {
      for (int x = left - reach; x < 0; ++x) copy_pixel(row, x - left, -x - left);
      for (int x = width; x < end; ++x) copy_pixel(row, x - left, 2 * width - 2 - x - left);
    }
    __syncthreads();
  }
  __device__ void copy_pixel(int row, int to, int from) const {
    for (int c = 0; c < 3; ++c) at(row, to)[c] = at(row, from)[c];
  }
};

// Computes the horizontal sums of all levels of a strip. A warp processes 32 rows.
__device__ inline void sum_across(float* sums, const StripLevels& strip, int rows,
                                  const Taps& taps) {
  constexpr int kRuns = kStripSamples / kRun;  // per row
  const int groups = (rows + 31) / 32;
  for (int task = warp_index(); task < groups * kRuns; task += kBlockWarps) {
    const int row = task / kRuns * 32 + lane_index(), run = task % kRuns;
    const int channel = run % 3, x = run / 3 * kRun;
    if (row >= rows) continue;
    const std::uint8_t* const line = strip.at(row, x) + channel;
    float sum[kRun];
    sum_run(sum, taps, [line](int i) {
      // Exact, and faster than a conversion.
      return __uint_as_float(__float_as_uint(kRoundingFloat) | line[3 * i]) - kRoundingFloat;
    });
#pragma unroll
    for (int k = 0; k < kRun; ++k) sums[row * kSumPitch + 3 * (x + k) + channel] = sum[k];
  }
}

// Rows of sums; the first is row `top` of the image.
struct SumRows {
  const float* sums;
  int top, rows;
};

// Sums rows `from` to to - 1 of the strip at `left` vertically and writes them to image.other.
__device__ inline void sum_down(const BlockImage& image, const SumRows& band, int left, int from,
                                int to, const Taps& taps) {
  const int width = image.size.width, height = image.size.height;
  std::uint8_t* const out = image.other;
  const int samples = min(kStripSamples, 3 * (width - left));
  const int tasks = (to - from + kRun - 1) / kRun * kStripSamples;
  for (int task = first_index(); task < tasks; task += kBlockThreads) {
    const int column = task % kStripSamples, y = from + task / kStripSamples * kRun;
    if (column >= samples) continue;
    const float* const line = band.sums + (y - band.top) * kSumPitch + column;
    float sum[kRun];
    if (y >= taps.reach && y + kRun + taps.reach <= height) {
      sum_run(sum, taps, [line](int i) { return line[i * kSumPitch]; });
    } else {
      const int last = band.rows - 1;
      sum_run(sum, taps, [=](int i) {
        const int row = height - 1 - abs(height - 1 - abs(y + i)) - band.top;
        return line[(min(max(row, 0), last) - (y - band.top)) * kSumPitch];
      });
    }
    std::uint8_t* to_level = out + std::ptrdiff_t{3} * (y * width + left) + column;
#pragma unroll
    for (int k = 0; k < kRun; ++k, to_level += 3 * width) {
      // level_of_sum(): the low bits of the float hold the integer.
      if (y + k < to)
        *to_level = static_cast<std::uint8_t>(__float_as_uint(sum[k] + kRoundingFloat));
    }
  }
}

// Partition of the shared memory.
struct StripSpace {
  int sum_rows;  // rows of the image, or as many as fit
  int made;      // result rows computed from sum_rows
  int at_once;   // rows of levels loaded at once
};

// Levels loaded at once: part of the strip at `left`, for the result rows from `from` on. `row` is
// the first loaded row, counted from the first row that these result rows need.
struct StripPart {
  int left, from, row;
};

__device__ inline StripSpace strip_space(const BlockImage& image, int pitch, int reach) {
  constexpr int kSumBytes = static_cast<int>(sizeof(float)) * kSumPitch;
  const int height = image.size.height;
  const int rows = min((image.space_bytes - 32 * pitch) / kSumBytes, height);
  const int made = rows == height ? height : (rows - 2 * reach) / kRun * kRun;
  return {rows, made, (image.space_bytes - rows * kSumBytes) / pitch / 32 * 32};
}

static_assert((kMinSpace - 32 * (3 * (kStripPixels + 2 * 64) + 4)) / (4 * kSumPitch) >=
                  kMaxGaussianKernel - 1 + kRun,
              "room for some rows of the largest kernel, and for those around them");

TUNDISH_STEP void gaussian_blur(BlockImage& image, const PixelStep& step) {
  apply_table(image);
  Taps &across = block_memory.across, &down = block_memory.down;
  if (threadIdx.x == 0) {
    across.reach =
        gaussian_weights(across.weight, static_cast<int>(step.value[0]), step.value[4]) - 1;
  } else if (threadIdx.x == 32) {
    down.reach = gaussian_weights(down.weight, static_cast<int>(step.value[1]), step.value[5]) - 1;
  }
  __syncthreads();
  const Size size = image.size;
  StripLevels strip{nullptr, (across.reach + 3) / 4 * 4};
  const StripSpace space = strip_space(image, strip.pitch(), down.reach);
  float* const sums = reinterpret_cast<float*>(block_space);
  strip.levels = reinterpret_cast<std::uint8_t*>(sums + space.sum_rows * kSumPitch);
  const auto top_of = [&](int from) { return max(from - down.reach, 0); };
  const auto rows_of = [&](int from) {
    return min(from + space.made + down.reach, size.height) - top_of(from);
  };
  const auto load = [&](const StripPart& part) {
    strip.load(image, part.left, top_of(part.from) + part.row,
               min(space.at_once, rows_of(part.from) - part.row));
  };
  StripPart part{0, 0, 0};
  load(part);
  while (part.left < size.width) {
    const int top = top_of(part.from), rows = rows_of(part.from);
    const int count = min(space.at_once, rows - part.row);
    wait_for_rows();  // also ensures that the previous part's sums have been read
    strip.reflect(size.width, part.left, count, across.reach);
    sum_across(sums + part.row * kSumPitch, strip, count, across);
    __syncthreads();
    StripPart next = part;
    next.row += space.at_once;
    if (next.row >= rows) next = {part.left, part.from + space.made, 0};
    if (next.from >= size.height) next = {part.left + kStripPixels, 0, 0};
    if (next.left < size.width) load(next);  // overlaps with reading the sums
    if (next.row == 0) {
      const int to = min(part.from + space.made, size.height);
      sum_down(image, {sums, top, rows}, part.left, part.from, to, down);
    }
    part = next;
  }
  __syncthreads();
  exchange(image);
}

}  // namespace tundish::cuda
