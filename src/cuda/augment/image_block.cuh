// One image, and the block of threads that processes it. All threads of the block call each
// function here. On return, all writes are visible to all threads of the block.
#pragma once

#include <cuda_pipeline.h>

#include <cstdint>

#include "augment/pixels/blur/blur_ops.h"
#include "augment/pixels/pixel_step.h"
#include "base/image.h"

namespace tundish::cuda {

inline constexpr int kBlockThreads = 512;
inline constexpr int kBlockWarps = kBlockThreads / 32;

// Bytes of BlockImage::space. Minimum: every GPU has 64 KiB in all. Maximum: three blocks fit into
// a multiprocessor of 228 KiB, and so does a blur strip of 224 rows at once.
inline constexpr int kMinSpace = 56 * 1024, kMaxSpace = 70 * 1024;

// Weights of a kernel along one axis.
struct Taps {
  float weight[kMaxGaussianKernel / 2 + 1];
  int reach;
};

struct BlockMemory {
  std::uint8_t table[3][256];  // maps levels that are not written to the image yet
  std::uint32_t counts[3][256];
  int low[3], high[3];    // lowest and highest counted level
  std::uint32_t last[3];  // count of the highest level
  unsigned long long sum;
  Taps across, down;
  std::uint32_t hue_below[8], channel_order[8];
};

// Named variables, so that the compiler knows that they are in shared memory even in functions
// that are not inlined.
static __shared__ BlockMemory block_memory;
extern __shared__ std::uint32_t block_space[];  // scratch memory of one operation

// Operations are not inlined: together they would need more registers than are available to
// two blocks of a multiprocessor.
#define TUNDISH_STEP __device__ __noinline__ static

struct BlockImage {
  std::uint8_t* rgb;    // 8-bit (H, W, C)
  std::uint8_t* other;  // same size as rgb
  Size size;
  int space_bytes;  // size of block_space, at least kMinSpace
  // See step_scratch.h; null if no step needs them. `kept` is the image that a mix keeps.
  float* floats = nullptr;
  std::uint8_t* kept = nullptr;
  bool pending = false;  // true if the table is not the identity

  __device__ int pixels() const { return size.width * size.height; }
};

__device__ inline int first_index() { return static_cast<int>(threadIdx.x); }
__device__ inline int lane_index() { return static_cast<int>(threadIdx.x % 32); }
__device__ inline int warp_index() { return static_cast<int>(threadIdx.x / 32); }

__device__ inline void clear_table(BlockImage& image) {
  for (int i = first_index(); i < 3 * 256; i += kBlockThreads) {
    block_memory.table[i / 256][i % 256] = static_cast<std::uint8_t>(i);
  }
  image.pending = false;
  __syncthreads();
}

// Replaces each level in the table by change(channel, level).
template <class Change>
__device__ void change_table(BlockImage& image, const Change& change) {
  for (int i = first_index(); i < 3 * 256; i += kBlockThreads) {
    std::uint8_t& level = block_memory.table[i / 256][i % 256];
    level = change(i / 256, level);
  }
  image.pending = true;
  __syncthreads();
}

// Returns a pixel mapped through the table; red is the lowest byte.
__device__ inline std::uint32_t load_pixel(const BlockImage& image, int i) {
  const std::uint8_t* at = image.rgb + std::ptrdiff_t{3} * i;
  const auto& table = block_memory.table;
  return std::uint32_t{table[0][at[0]]} | std::uint32_t{table[1][at[1]]} << 8 |
         std::uint32_t{table[2][at[2]]} << 16;
}

__device__ inline void store_pixel(std::uint8_t* rgb, int i, std::uint32_t pixel) {
  std::uint8_t* to = rgb + std::ptrdiff_t{3} * i;
  to[0] = static_cast<std::uint8_t>(pixel);
  to[1] = static_cast<std::uint8_t>(pixel >> 8);
  to[2] = static_cast<std::uint8_t>(pixel >> 16);
}

// Four pixels in three words. Word-aligned only if the image's pixel count is a multiple of
// four.
struct RgbQuad {
  std::uint32_t word[3];

  __device__ std::uint32_t level(int pixel, int channel) const {
    const int b = 3 * pixel + channel;
    return word[b / 4] >> (8 * (b % 4)) & 0xff;
  }
  __device__ std::uint32_t pixel(int p) const {
    const std::uint32_t above = p == 0 ? word[0] : word[p - 1] >> (32 - 8 * p);
    return (p == 0 || p == 3 ? above : above | word[p] << (8 * p)) & 0xffffff;
  }
  __device__ std::uint32_t through(const std::uint8_t (&table)[3][256], int p) const {
    return std::uint32_t{table[0][level(p, 0)]} | std::uint32_t{table[1][level(p, 1)]} << 8 |
           std::uint32_t{table[2][level(p, 2)]} << 16;
  }
  // The highest byte of each pixel must be 0.
  __device__ static RgbQuad of(const std::uint32_t (&p)[4]) {
    return {{p[0] | p[1] << 24, p[1] >> 8 | p[2] << 16, p[2] >> 16 | p[3] << 8}};
  }
};

// Calls use(pixel) with every pixel, mapped through the table, in any order.
template <class Use>
__device__ void for_each_pixel(const BlockImage& image, const Use& use) {
  const int pixels = image.pixels();
  const auto& table = block_memory.table;
  const bool pending = image.pending;
  if (pixels % 4 != 0) {
    for (int i = first_index(); i < pixels; i += kBlockThreads) use(load_pixel(image, i));
    return;
  }
  const auto* fours = reinterpret_cast<const RgbQuad*>(image.rgb);
#pragma unroll 2
  for (int g = first_index(); g < pixels / 4; g += kBlockThreads) {
    const RgbQuad in = fours[g];
#pragma unroll
    for (int p = 0; p < 4; ++p) use(pending ? in.through(table, p) : in.pixel(p));
  }
}

// Writes change(pixel, number) for each pixel, mapped through the table, to `to`, which may be
// image.rgb.
template <class Change>
__device__ void write_pixels(std::uint8_t* to, const BlockImage& image, const Change& change) {
  const int pixels = image.pixels();
  const auto& table = block_memory.table;
  const bool pending = image.pending;
  if (pixels % 4 == 0) {
    const auto* from = reinterpret_cast<const RgbQuad*>(image.rgb);
    auto* fours = reinterpret_cast<RgbQuad*>(to);
    const int groups = pixels / 4;
    for (int g = first_index(); g < groups; g += 2 * kBlockThreads) {
      const int second = min(g + kBlockThreads, groups - 1);
      const RgbQuad in[2] = {from[g], from[second]};
      RgbQuad out[2];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        std::uint32_t pixel[4];
#pragma unroll
        for (int p = 0; p < 4; ++p) {
          const int number = 4 * (i == 0 ? g : second) + p;
          pixel[p] = change(pending ? in[i].through(table, p) : in[i].pixel(p), number);
        }
        out[i] = RgbQuad::of(pixel);
      }
      fours[g] = out[0];
      if (g + kBlockThreads < groups) fours[second] = out[1];
    }
  } else {
    for (int i = first_index(); i < pixels; i += kBlockThreads) {
      store_pixel(to, i, change(load_pixel(image, i), i));
    }
  }
  __syncthreads();
}

template <class Change>
__device__ void change_pixels(BlockImage& image, const Change& change) {
  write_pixels(image.rgb, image, change);
  if (image.pending) clear_table(image);
}

TUNDISH_STEP void write_table(BlockImage& image) {
  change_pixels(image, [](std::uint32_t pixel, int) { return pixel; });
}
__device__ inline void apply_table(BlockImage& image) {
  if (image.pending) write_table(image);
}

// Makes image.other the current image.
__device__ inline void exchange(BlockImage& image) {
  std::uint8_t* const made = image.other;
  image.other = image.rgb;
  image.rgb = made;
}

// Stores the 32 pixels of a warp as 24 words.
__device__ inline void store_warp(std::uint8_t* to, std::uint32_t pixel, int pixels) {
  const int word = lane_index(), first = min(4 * word / 3, 31);
  const std::uint32_t low = __shfl_sync(0xffffffffu, pixel, first);
  const std::uint32_t high = __shfl_sync(0xffffffffu, pixel, first + 1);
  const int shift = 8 * (4 * word - 3 * first);
  if (word < 3 * pixels / 4) {
    reinterpret_cast<std::uint32_t*>(to)[word] =
        __funnelshift_r(low | high << 24, high >> 8, static_cast<unsigned>(shift));
  }
}

// Builds a new image from make(x, y), which reads image.rgb without the table. A warp computes a
// row; a thread computes kAtOnce pixels before it stores them, to hide memory latency.
template <int kAtOnce, class Make>
__device__ void make_pixels(BlockImage& image, const Make& make) {
  const Size size = image.size;
  std::uint8_t* const to = image.other;
  const bool words = size.width % 4 == 0;
  for (int y = warp_index(); y < size.height; y += kBlockWarps) {
    for (int left = 0; left < size.width; left += 32 * kAtOnce) {
      std::uint32_t pixel[kAtOnce];
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        const int x = left + 32 * k + lane_index();
        pixel[k] = x < size.width ? make(x, y) : 0;
      }
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        const int x = left + 32 * k, at = y * size.width + x;
        if (words && x < size.width) {
          store_warp(to + std::ptrdiff_t{3} * at, pixel[k], min(32, size.width - x));
        } else if (x + lane_index() < size.width) {
          store_pixel(to, at + lane_index(), pixel[k]);
        }
      }
    }
  }
  exchange(image);
  __syncthreads();
}

// Reads a pixel by whole words; requires a pixel count that is a multiple of four.
__device__ inline std::uint32_t pixel_by_words(const std::uint8_t* rgb, int number) {
  const int at = 3 * number, shift = 8 * (at % 4);
  const auto* words = reinterpret_cast<const std::uint32_t*>(rgb) + at / 4;
  const std::uint32_t high = shift > 8 ? words[1] : 0;
  return __funnelshift_r(words[0], high, static_cast<unsigned>(shift)) & 0xffffff;
}

// Rows of bytes at a fixed pitch.
struct RowsFrom {
  const std::uint8_t* first;
  int pitch;
};
struct RowsTo {
  std::uint8_t* first;
  int pitch;
};

// Calls word(to, from) or byte(to, from) over `rows` rows of `bytes` bytes, one row per warp. Uses
// words if all rows begin and end on word boundaries.
template <class Word, class Byte>
__device__ void for_rows(RowsTo to, RowsFrom from, int bytes, int rows, const Word& word,
                         const Byte& byte) {
  const auto places =
      reinterpret_cast<std::uintptr_t>(to.first) | reinterpret_cast<std::uintptr_t>(from.first);
  const bool words = (places | static_cast<unsigned>(to.pitch | from.pitch | bytes)) % 4 == 0;
  for (int row = warp_index(); row < rows; row += kBlockWarps) {
    std::uint8_t* const line = to.first + std::ptrdiff_t{row} * to.pitch;
    const std::uint8_t* const source = from.first + std::ptrdiff_t{row} * from.pitch;
    if (words) {
      for (int i = 4 * lane_index(); i < bytes; i += 4 * 32) word(line + i, source + i);
    } else {
      for (int i = lane_index(); i < bytes; i += 32) byte(line + i, source + i);
    }
  }
}

// Loads rows into shared memory; visible to all threads after wait_for_rows().
__device__ inline void load_rows(RowsTo to, RowsFrom from, int bytes, int rows) {
  for_rows(
      to, from, bytes, rows,
      [](std::uint8_t* word, const std::uint8_t* source) {
        __pipeline_memcpy_async(word, source, 4);
      },
      [](std::uint8_t* byte, const std::uint8_t* source) { *byte = *source; });
  __pipeline_commit();
}
__device__ inline void wait_for_rows() {
  __pipeline_wait_prior(0);
  __syncthreads();
}

// Stores rows from shared memory, without synchronizing.
__device__ inline void store_rows(RowsTo to, RowsFrom from, int bytes, int rows) {
  for_rows(
      to, from, bytes, rows,
      [](std::uint8_t* word, const std::uint8_t* source) {
        *reinterpret_cast<std::uint32_t*>(word) = *reinterpret_cast<const std::uint32_t*>(source);
      },
      [](std::uint8_t* byte, const std::uint8_t* source) { *byte = *source; });
}

}  // namespace tundish::cuda
