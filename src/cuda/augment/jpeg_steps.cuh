// Compresses an image to a 4:2:0 JPEG and back. Huffman coding is lossless and therefore skipped:
// pixels become planes, each block is transformed, quantized and transformed back, and the planes
// become pixels again.
#pragma once

#include "codec/lanes/forward_arithmetic.h"
#include "codec/lanes/sample_arithmetic.h"
#include "cuda/augment/step_scratch.h"
#include "cuda/augment/warp_steps.cuh"

namespace tundish::cuda {

// Luma or one chroma plane, padded to whole blocks.
struct JpegPlane {
  std::uint8_t* samples;
  int width, height;  // size of the image, in samples
  int blocks_x, blocks_y;

  __device__ JpegPlane(std::uint8_t* to, int w, int h)
      : samples(to), width(w), height(h), blocks_x((w + 7) / 8), blocks_y((h + 7) / 8) {}
  __device__ int stride() const { return 8 * blocks_x; }
  __device__ int blocks() const { return blocks_x * blocks_y; }
  __device__ std::uint8_t* end() const { return samples + std::ptrdiff_t{64} * blocks(); }
  // Repeats the outermost samples beyond the edges.
  __device__ int at(int x, int y) const {
    return samples[min(max(y, 0), height - 1) * stride() + min(max(x, 0), width - 1)];
  }
};

struct JpegPlanes {
  JpegPlane luma, blue, red;

  __device__ JpegPlanes(std::uint8_t* to, Size size)
      : luma(to, size.width, size.height),
        blue(luma.end(), (size.width + 1) / 2, (size.height + 1) / 2),
        red(blue.end(), blue.width, blue.height) {}
};

// Partition of the shared memory: coefficients of some blocks, processed by eight threads each,
// then the quantizers.
inline constexpr int kJpegAtOnce = kBlockThreads / 8;
inline constexpr int kJpegLine = 9;  // words; odd, so that rows and columns span all banks
inline constexpr int kJpegBlock = 8 * kJpegLine;
static_assert(kMinSpace >= 4 * (kJpegAtOnce * kJpegBlock + 2 * 64));

// A thread computes one sample of both chroma planes from four pixels, and the luma of the pixels.
// The last column is repeated before chroma is averaged, the last row of each plane afterwards.
__device__ inline void fill_planes(const JpegPlanes& planes, const BlockImage& image) {
  const int width = image.size.width, height = image.size.height;
  const JpegPlane &luma = planes.luma, &blue = planes.blue;
  const int across = blue.stride(), count = 64 * blue.blocks();
  for (int i = first_index(); i < count; i += kBlockThreads) {
    const int y = i / across, x = i - y * across, row = min(y, blue.height - 1);
    lanes::Ycc pixel[2][2];
    int sum_blue = 0, sum_red = 0;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int from_x = min(2 * x + k % 2, width - 1), from_y = min(2 * row + k / 2, height - 1);
      const std::uint8_t* rgb = image.rgb + std::ptrdiff_t{3} * (from_y * width + from_x);
      pixel[k / 2][k % 2] = lanes::ycc_of(rgb[0], rgb[1], rgb[2]);
      sum_blue += pixel[k / 2][k % 2].blue;
      sum_red += pixel[k / 2][k % 2].red;
    }
    blue.samples[i] = static_cast<std::uint8_t>(lanes::average_of_four(sum_blue, x));
    planes.red.samples[i] = static_cast<std::uint8_t>(lanes::average_of_four(sum_red, x));
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int to_x = 2 * x + k % 2, to_y = 2 * y + k / 2;
      if (to_x < luma.stride() && to_y < 8 * luma.blocks_y) {
        luma.samples[to_y * luma.stride() + to_x] = pixel[y == row ? k / 2 : 1][k % 2].luma;
      }
    }
  }
  __syncthreads();
}

// Transforms a row of eight samples into shared memory.
__device__ inline void transform_row(std::int32_t* to, const std::uint8_t* samples) {
  std::int32_t in[8], line[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) in[i] = samples[i] - 128;
  lanes::forward_pass(line, in);
#pragma unroll
  for (int i = 0; i < 8; ++i) to[i] = lanes::scaled_row(line[i], i);
}

// Transforms column x of a block in shared memory, quantizes it and transforms it back.
__device__ inline void quantize_column(std::int32_t* column, const std::int32_t* quantizer) {
  std::int32_t in[8], line[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) in[i] = column[i * kJpegLine];
  lanes::forward_pass(line, in);
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const std::int32_t each = quantizer[8 * i];
    in[i] =
        static_cast<std::int16_t>(lanes::quantize(lanes::scaled_column(line[i], i), each) * each);
  }
  lanes::idct_pass(line, in, lanes::kColumnStart);
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    column[i * kJpegLine] = static_cast<std::int16_t>(line[i] >> lanes::kColumnShift);
  }
}

__device__ inline void restore_row(std::uint8_t* samples, const std::int32_t* from) {
  std::int32_t in[8], line[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) in[i] = from[i];
  lanes::idct_pass(line, in, lanes::kRowStart);
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    samples[i] = static_cast<std::uint8_t>(min(max(line[i] >> lanes::kRowShift, 0), 255));
  }
}

// Quantizes all blocks of the planes in place. Thread `part` of eight does a row, a column, a row.
TUNDISH_STEP void quantize_planes(const JpegPlanes& planes, int quality) {
  auto* const numbers = reinterpret_cast<std::int32_t*>(block_space);
  std::int32_t* const quantizers = numbers + kJpegAtOnce * kJpegBlock;
  if (const int i = first_index(); i < 2 * 64) {
    quantizers[i] = lanes::standard_quantizer(quality, i >= 64, i % 64);
  }
  __syncthreads();
  const int part = first_index() % 8, own = first_index() / 8;
  std::int32_t* const block = numbers + own * kJpegBlock;
  const int lumas = planes.luma.blocks(), chromas = planes.blue.blocks();
  for (int first = 0; first < lumas + 2 * chromas; first += kJpegAtOnce) {
    const int number = first + own;
    const bool there = number < lumas + 2 * chromas, chroma = number >= lumas;
    const JpegPlane& plane = !chroma                    ? planes.luma
                             : number < lumas + chromas ? planes.blue
                                                        : planes.red;
    const int at = !chroma ? number : (number - lumas) % chromas;
    const int y = at / plane.blocks_x, x = at - y * plane.blocks_x;
    std::uint8_t* const samples =
        plane.samples + std::ptrdiff_t{8 * y + part} * plane.stride() + 8 * x;
    if (there) transform_row(block + part * kJpegLine, samples);
    __syncthreads();
    if (there) quantize_column(block + part, quantizers + (chroma ? 64 : 0) + part);
    __syncthreads();
    if (there) restore_row(samples, block + part * kJpegLine);
    __syncthreads();
  }
}

// Returns chroma at a pixel: interpolated from four samples; nearest in a tiny image (jdsample.c).
__device__ inline int chroma_at(const JpegPlane& plane, int x, int y) {
  if (plane.width <= 2) return plane.at(x / 2, y / 2);
  const int side_x = x % 2 == 0 ? -1 : 1, side_y = y % 2 == 0 ? -1 : 1;
  const auto column = [&](int at) {
    return 3 * plane.at(at, y / 2) + plane.at(at, y / 2 + side_y);
  };
  return lanes::smooth_sums(column(x / 2), column(x / 2 + side_x), x % 2 == 1);
}

__device__ inline std::uint32_t clipped(int level) {
  return static_cast<std::uint32_t>(min(max(level, 0), 255));
}

TUNDISH_STEP void show_planes(BlockImage& image, const JpegPlanes& planes) {
  make_pixels<1>(image, [&](int x, int y) {
    const int luma = lanes::scaled_luma(planes.luma.samples[y * planes.luma.stride() + x]);
    const int blue = chroma_at(planes.blue, x, y) - 128, red = chroma_at(planes.red, x, y) - 128;
    return clipped(lanes::red_of(luma, red)) | clipped(lanes::green_of(luma, blue, red)) << 8 |
           clipped(lanes::blue_of(luma, blue)) << 16;
  });
}

TUNDISH_STEP void jpeg(BlockImage& image, int quality) {
  apply_table(image);
  const bool fits = jpeg_fits(image.size);
  const JpegPlanes planes(fits ? image.other : reinterpret_cast<std::uint8_t*>(image.floats),
                          image.size);
  fill_planes(planes, image);
  quantize_planes(planes, quality);
  exchange(image);  // the source pixels are no longer needed; the planes are
  show_planes(image, planes);
}

}  // namespace tundish::cuda
