// Operations that show pixels from other positions.
#pragma once

#include "augment/pixels/warp/warp_ops.h"
#include "cuda/augment/image_block.cuh"

namespace tundish::cuda {

__device__ inline std::uint32_t packed(const std::uint8_t* pixel) {
  return std::uint32_t{pixel[0]} | std::uint32_t{pixel[1]} << 8 | std::uint32_t{pixel[2]} << 16;
}

// Three levels in a register.
struct PackedPixel {
  std::uint32_t rgb;
  __device__ int operator[](int c) const { return static_cast<int>(rgb >> (8 * c) & 0xff); }
};

// The image interface of warp_ops.h. kWords: the pixel count is a multiple of four.
template <bool kWords>
struct PackedImage {
  const std::uint8_t* rgb;
  int width, height;

  __device__ PackedPixel at(int x, int y) const {
    const int number = y * width + x;
    return {kWords ? pixel_by_words(rgb, number) : packed(rgb + std::ptrdiff_t{3} * number)};
  }
};

// Finds the pixels shown along a line; -1: none. Runs on one thread, because each position is the
// previous position plus a step.
__device__ inline void walk_line(std::int32_t* shown, int n, double place, double step, int limit) {
#pragma unroll 4
  for (int i = 0; i < n; ++i, place += step) {
    shown[i] = place >= 0.0 && place < limit ? static_cast<std::int32_t>(place) : -1;
  }
}

template <bool kWords>
TUNDISH_STEP void warp_scaled(BlockImage& image, const NearestAffine& affine, std::uint32_t fill) {
  auto* const columns = reinterpret_cast<std::int32_t*>(block_space);
  std::int32_t* const rows = columns + image.size.width;
  const int width = image.size.width, height = image.size.height;
  if (threadIdx.x == 0) walk_line(columns, width, affine.wide_x, affine.across[0], width);
  if (threadIdx.x == 32) walk_line(rows, height, affine.wide_y, affine.down[1], height);
  __syncthreads();
  const PackedImage<kWords> from{image.rgb, width, height};
  make_pixels<4>(image, [=](int x, int y) {
    const std::int32_t column = columns[x], row = rows[y];
    return (column | row) < 0 ? fill : from.at(column, row).rgb;
  });
}

template <bool kWords>
TUNDISH_STEP void warp_fixed(BlockImage& image, const NearestAffine& affine, std::uint32_t fill) {
  const int width = image.size.width, height = image.size.height;
  const PackedImage<kWords> from{image.rgb, width, height};
  make_pixels<4>(image, [=](int x, int y) {
    const std::int32_t column = fixed_x(affine, x, y) >> 16, row = fixed_y(affine, x, y) >> 16;
    const bool inside = column >= 0 && column < width && row >= 0 && row < height;
    return inside ? from.at(column, row).rgb : fill;
  });
}

template <Filter kFilter, bool kWords>
TUNDISH_STEP void warp_sampled(BlockImage& image, const PixelStep& given) {
  PixelStep step = given;  // in registers
  step.filter = kFilter;
  const PackedImage<kWords> from{image.rgb, image.size.width, image.size.height};
  const Size size = image.size;
  make_pixels<1>(image, [&](int x, int y) {
    std::uint8_t pixel[3];
    warped_pixel(pixel, step, from, size, x, y);
    return packed(pixel);
  });
}

template <bool kWords>
__device__ void warp_any(BlockImage& image, const PixelStep& step) {
  if (step.filter == Filter::bilinear) return warp_sampled<Filter::bilinear, kWords>(image, step);
  if (step.filter == Filter::bicubic) return warp_sampled<Filter::bicubic, kWords>(image, step);
  if (step.op == PixelOp::affine) {
    const NearestAffine affine = nearest_affine(step, image.size);
    const std::uint32_t fill = packed(step.fill.data());
    const bool fits = image.size.width + image.size.height <= image.space_bytes / 4;
    if (affine.way == NearestWay::fixed) return warp_fixed<kWords>(image, affine, fill);
    if (affine.way == NearestWay::scaled && fits) return warp_scaled<kWords>(image, affine, fill);
  }
  warp_sampled<Filter::nearest, kWords>(image, step);
}

__device__ inline void warp(BlockImage& image, const PixelStep& step) {
  apply_table(image);
  image.pixels() % 4 == 0 ? warp_any<true>(image, step) : warp_any<false>(image, step);
}

}  // namespace tundish::cuda
