// One image, and the block of threads that works on it. Every function here is called by all
// threads of the block, and leaves what it wrote visible to all of them.
#pragma once

#include <cstdint>

#include "augment/pixels/pixel_step.h"
#include "core/image.h"

namespace tundish::cuda {

inline constexpr int kBlockThreads = 512;
inline constexpr int kBandFloats = 14 * 1024;  // 56 KiB: any GPU has 64

// In shared memory.
struct BlockMemory {
  std::uint8_t table[3][256];  // of levels that are not written to the image yet
  std::uint32_t counts[3][256];
  unsigned long long sum;
  PixelStep step;
};

struct BlockImage {
  std::uint8_t* rgb;    // 8-bit (H, W, C)
  std::uint8_t* other;  // as many bytes
  Size size;
  BlockMemory* memory;
  float* band;           // kBandFloats, in shared memory
  bool pending = false;  // the table is not the identity

  __device__ int pixels() const { return size.width * size.height; }
};

__device__ inline int first_index() { return static_cast<int>(threadIdx.x); }

__device__ inline void clear_table(BlockImage& image) {
  for (int i = first_index(); i < 3 * 256; i += kBlockThreads) {
    image.memory->table[i / 256][i % 256] = static_cast<std::uint8_t>(i);
  }
  image.pending = false;
  __syncthreads();
}

// change(channel, level) gives the new level of one that is in the table.
template <class Change>
__device__ void change_table(BlockImage& image, const Change& change) {
  for (int i = first_index(); i < 3 * 256; i += kBlockThreads) {
    std::uint8_t& level = image.memory->table[i / 256][i % 256];
    level = change(i / 256, level);
  }
  image.pending = true;
  __syncthreads();
}

// A pixel through the table: red is the lowest byte.
__device__ inline std::uint32_t load_pixel(const BlockImage& image, int i) {
  const std::uint8_t* at = image.rgb + std::ptrdiff_t{3} * i;
  const auto& table = image.memory->table;
  return std::uint32_t{table[0][at[0]]} | std::uint32_t{table[1][at[1]]} << 8 |
         std::uint32_t{table[2][at[2]]} << 16;
}

__device__ inline void store_pixel(std::uint8_t* rgb, int i, std::uint32_t pixel) {
  std::uint8_t* to = rgb + std::ptrdiff_t{3} * i;
  to[0] = static_cast<std::uint8_t>(pixel);
  to[1] = static_cast<std::uint8_t>(pixel >> 8);
  to[2] = static_cast<std::uint8_t>(pixel >> 16);
}

// change(pixel) gives the new pixel of one that went through the table. Four pixels are three
// words, where every image begins at a word.
template <class Change>
__device__ void change_pixels(BlockImage& image, const Change& change) {
  const int pixels = image.pixels();
  if (pixels % 4 == 0) {
    auto* words = reinterpret_cast<std::uint32_t*>(image.rgb);
    const auto& table = image.memory->table;
    for (int g = first_index(); g < pixels / 4; g += kBlockThreads) {
      std::uint32_t in[3], out[3] = {};
      for (int w = 0; w < 3; ++w) in[w] = words[3 * g + w];
#pragma unroll
      for (int p = 0; p < 4; ++p) {
        std::uint32_t pixel = 0;
#pragma unroll
        for (int c = 0; c < 3; ++c) {
          const int b = 3 * p + c;
          pixel |= std::uint32_t{table[c][in[b / 4] >> (8 * (b % 4)) & 0xff]} << (8 * c);
        }
        pixel = change(pixel);
#pragma unroll
        for (int c = 0; c < 3; ++c) {
          const int b = 3 * p + c;
          out[b / 4] |= (pixel >> (8 * c) & 0xff) << (8 * (b % 4));
        }
      }
      for (int w = 0; w < 3; ++w) words[3 * g + w] = out[w];
    }
  } else {
    for (int i = first_index(); i < pixels; i += kBlockThreads) {
      store_pixel(image.rgb, i, change(load_pixel(image, i)));
    }
  }
  __syncthreads();
  clear_table(image);
}

__device__ inline void apply_table(BlockImage& image) {
  if (image.pending) change_pixels(image, [](std::uint32_t pixel) { return pixel; });
}

// What was made in image.other is the image now.
__device__ inline void exchange(BlockImage& image) {
  std::uint8_t* const made = image.other;
  image.other = image.rgb;
  image.rgb = made;
}

// make(x, y) gives each pixel of a new image from image.rgb, which is as it is in memory.
template <class Make>
__device__ void make_pixels(BlockImage& image, const Make& make) {
  apply_table(image);
  const int width = image.size.width;
  for (int i = first_index(); i < image.pixels(); i += kBlockThreads) {
    const int y = i / width;
    store_pixel(image.other, i, make(i - y * width, y));
  }
  exchange(image);
  __syncthreads();
}

}  // namespace tundish::cuda
