// Operations whose level table depends on all pixels.
#pragma once

#include "augment/pixels/colors/blend_ops.h"
#include "augment/pixels/levels/statistics_ops.h"
#include "cuda/augment/image_block.cuh"

namespace tundish::cuda {

// Counts each level of each channel in image.rgb, without the table. Uses several histograms, since
// warps that count the same level wait for each other.
inline constexpr int kCounts = 8;
static_assert(kMinSpace >= kCounts * 3 * 256 * 4);

__device__ inline void count_levels_in_memory(BlockImage& image) {
  for (int i = first_index(); i < kCounts * 3 * 256; i += kBlockThreads) block_space[i] = 0;
  __syncthreads();
  std::uint32_t* const counts = block_space + warp_index() % kCounts * 3 * 256;
  const int pixels = image.pixels();
  if (pixels % 4 == 0) {
    const auto* fours = reinterpret_cast<const RgbQuad*>(image.rgb);
#pragma unroll 2
    for (int g = first_index(); g < pixels / 4; g += kBlockThreads) {
      const RgbQuad in = fours[g];
#pragma unroll
      for (int b = 0; b < 12; ++b) atomicAdd(&counts[b % 3 * 256 + in.level(b / 3, b % 3)], 1u);
    }
  } else {
    const std::uint8_t* const rgb = image.rgb;
    for (int i = first_index(); i < 3 * pixels; i += kBlockThreads) {
      atomicAdd(&counts[i % 3 * 256 + rgb[i]], 1u);
    }
  }
  __syncthreads();
}

// Fills memory.counts, low, high and last for the image after the table. No channel is empty.
__device__ inline void count_levels(BlockImage& image) {
  BlockMemory& memory = block_memory;
  count_levels_in_memory(image);
  for (int i = first_index(); i < 3 * 256; i += kBlockThreads) memory.counts[i / 256][i % 256] = 0;
  __syncthreads();
  for (int i = first_index(); i < 3 * 256; i += kBlockThreads) {
    std::uint32_t count = 0;
    for (int k = 0; k < kCounts; ++k) count += block_space[k * 3 * 256 + i];
    if (count > 0) atomicAdd(&memory.counts[i / 256][memory.table[i / 256][i % 256]], count);
  }
  __syncthreads();
  if (const int c = warp_index(); c < 3) {  // one warp per channel
    int low = 256, high = -1;
    for (int level = lane_index(); level < 256; level += 32) {
      if (memory.counts[c][level] == 0) continue;
      low = min(low, level);
      high = max(high, level);
    }
    for (int far = 16; far > 0; far /= 2) {
      low = min(low, __shfl_xor_sync(0xffffffffu, low, far));
      high = max(high, __shfl_xor_sync(0xffffffffu, high, far));
    }
    if (lane_index() == 0) {
      memory.low[c] = low;
      memory.high[c] = high;
      memory.last[c] = memory.counts[c][high];
    }
  }
  __syncthreads();
}

// Replaces each count by the sum of the counts of all lower levels.
__device__ inline void sum_counts(BlockMemory& memory) {
  if (const int c = warp_index(); c < 3) {
    std::uint32_t* const counts = memory.counts[c] + 8 * lane_index();
    std::uint32_t own[8], sum = 0;
    for (int i = 0; i < 8; ++i) own[i] = counts[i];
    for (int i = 0; i < 8; ++i) sum += own[i];
    std::uint32_t below = sum;
    for (int far = 1; far < 32; far *= 2) {
      const std::uint32_t more = __shfl_up_sync(0xffffffffu, below, far);
      if (lane_index() >= far) below += more;
    }
    below -= sum;
    for (int i = 0; i < 8; ++i) {
      counts[i] = below;
      below += own[i];
    }
  }
  __syncthreads();
}

// gray(pixel) returns an integer of at most 255.
template <class Gray>
__device__ std::uint64_t sum_of_grays(BlockImage& image, const Gray& gray) {
  BlockMemory& memory = block_memory;
  if (threadIdx.x == 0) memory.sum = 0;
  __syncthreads();
  unsigned sum = 0;  // at most 2^24 grays per thread
  for_each_pixel(image, [&](std::uint32_t pixel) { sum += gray(pixel); });
  for (int far = 16; far > 0; far /= 2) sum += __shfl_down_sync(0xffffffffu, sum, far);
  if (lane_index() == 0) atomicAdd(&memory.sum, static_cast<unsigned long long>(sum));
  __syncthreads();
  return memory.sum;
}

__device__ inline void contrast(BlockImage& image, float factor) {
  const std::uint64_t sum = sum_of_grays(image, [](std::uint32_t pixel) {
    return gray_level(static_cast<int>(pixel & 0xff), static_cast<int>(pixel >> 8 & 0xff),
                      static_cast<int>(pixel >> 16));
  });
  const int mean = mean_gray(sum, static_cast<std::uint64_t>(image.pixels()));
  change_table(image, [=](int, std::uint8_t level) { return blend_levels(mean, level, factor); });
}

__device__ inline void autocontrast(BlockImage& image) {
  count_levels(image);
  const BlockMemory& memory = block_memory;
  change_table(image, [&](int c, std::uint8_t level) {
    return autocontrast_level(level, memory.low[c], memory.high[c]);
  });
}

__device__ inline void equalize(BlockImage& image) {
  count_levels(image);
  sum_counts(block_memory);
  const BlockMemory& memory = block_memory;
  const auto pixels = static_cast<std::uint32_t>(image.pixels());
  change_table(image, [&](int c, std::uint8_t level) {
    const std::uint32_t step = equalize_step(pixels, memory.last[c]);
    return step == 0 ? level : equalize_level(memory.counts[c][level], step);
  });
}

TUNDISH_STEP void statistics(BlockImage& image, const PixelStep& step) {
  if (step.op == PixelOp::contrast) return contrast(image, static_cast<float>(step.value[0]));
  if (step.op == PixelOp::autocontrast) return autocontrast(image);
  equalize(image);
}

}  // namespace tundish::cuda
