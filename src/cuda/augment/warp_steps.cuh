// Operations that show pixels from elsewhere.
#pragma once

#include "augment/pixels/warp/warp_ops.h"
#include "cuda/augment/image_block.cuh"

namespace tundish::cuda {

__device__ inline std::uint32_t packed(const std::uint8_t* pixel) {
  return std::uint32_t{pixel[0]} | std::uint32_t{pixel[1]} << 8 | std::uint32_t{pixel[2]} << 16;
}

__device__ inline void warp(BlockImage& image, const PixelStep& step) {
  apply_table(image);
  const Pixels from{image.rgb, image.size.width, image.size.height};
  const Size size = image.size;
  make_pixels(image, [&](int x, int y) {
    std::uint8_t pixel[3];
    warped_pixel(pixel, step, from, size, x, y);
    return packed(pixel);
  });
}

}  // namespace tundish::cuda
