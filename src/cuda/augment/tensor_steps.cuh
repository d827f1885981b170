// Operations that follow torchvision's tensor kernels; used by AugMix.
#pragma once

#include "augment/pixels/tensors/tensor_ops.h"
#include "cuda/augment/color_steps.cuh"
#include "cuda/augment/statistic_steps.cuh"
#include "cuda/augment/warp_steps.cuh"

namespace tundish::cuda {

TUNDISH_STEP void tensor_saturation(BlockImage& image, double factor) {
  const TensorBlend blend = tensor_blend(factor);
  change_pixels(image, [blend](std::uint32_t pixel, int) {
    const auto red = static_cast<std::uint8_t>(pixel),
               green = static_cast<std::uint8_t>(pixel >> 8);
    const auto blue = static_cast<std::uint8_t>(pixel >> 16);
    const float gray = tensor_gray(red, green, blue);
    return std::uint32_t{blended(blend, red, gray)} |
           std::uint32_t{blended(blend, green, gray)} << 8 |
           std::uint32_t{blended(blend, blue, gray)} << 16;
  });
}

TUNDISH_STEP void tensor_contrast(BlockImage& image, double factor) {
  const std::uint64_t sum = sum_of_grays(image, [](std::uint32_t pixel) {
    return static_cast<unsigned>(tensor_gray(static_cast<std::uint8_t>(pixel),
                                             static_cast<std::uint8_t>(pixel >> 8),
                                             static_cast<std::uint8_t>(pixel >> 16)));
  });
  const float mean = tensor_mean(sum, static_cast<std::uint64_t>(image.pixels()));
  const TensorBlend blend = tensor_blend(factor);
  change_table(image, [=](int, std::uint8_t level) { return blended(blend, level, mean); });
}

TUNDISH_STEP void tensor_autocontrast(BlockImage& image) {
  count_levels(image);
  const BlockMemory& memory = block_memory;
  change_table(image, [&](int c, std::uint8_t level) {
    return tensor_autocontrast_level(level, memory.low[c], memory.high[c]);
  });
}

TUNDISH_STEP void tensor_sharpness(BlockImage& image, double factor) {
  const TensorBlend blend = tensor_blend(factor);
  sharpen(image, [blend](int level, int sum) {
    return tensor_sharpened(blend, static_cast<std::uint8_t>(level), sum);
  });
}

// place(x, y) returns the TensorSpot shown at pixel (x, y) of the result.
template <Filter kFilter, bool kWords, class Place>
__device__ void sample_places(BlockImage& image, const PixelStep& given, const Place& place) {
  PixelStep step = given;  // in registers
  step.filter = kFilter;
  const PackedImage<kWords> from{image.rgb, image.size.width, image.size.height};
  make_pixels<1>(image, [&](int x, int y) {
    std::uint8_t pixel[3];
    tensor_pixel(pixel, step, from, place(x, y));
    return packed(pixel);
  });
}

template <Filter kFilter, bool kWords>
TUNDISH_STEP void tensor_affine_with(BlockImage& image, const PixelStep& step) {
  const Size size = image.size;
  const TensorLine across = tensor_line(step, 0, size.width);
  const TensorLine down = tensor_line(step, 1, size.height);
  sample_places<kFilter, kWords>(image, step, [=](int x, int y) {
    const float from_x = from_middle(x, size.width), from_y = from_middle(y, size.height);
    return TensorSpot{tensor_place(across, from_x, from_y), tensor_place(down, from_x, from_y)};
  });
}

__device__ inline void tensor_affine(BlockImage& image, const PixelStep& step) {
  apply_table(image);
  const bool words = image.pixels() % 4 == 0;
  if (step.filter == Filter::nearest) {
    return words ? tensor_affine_with<Filter::nearest, true>(image, step)
                 : tensor_affine_with<Filter::nearest, false>(image, step);
  }
  words ? tensor_affine_with<Filter::bilinear, true>(image, step)
        : tensor_affine_with<Filter::bilinear, false>(image, step);
}

__device__ inline void tensors(BlockImage& image, const PixelStep& step) {
  if (step.op == PixelOp::tensor_saturation) return tensor_saturation(image, step.value[0]);
  if (step.op == PixelOp::tensor_contrast) return tensor_contrast(image, step.value[0]);
  if (step.op == PixelOp::tensor_autocontrast) return tensor_autocontrast(image);
  if (step.op == PixelOp::tensor_sharpness) return tensor_sharpness(image, step.value[0]);
  tensor_affine(image, step);
}

}  // namespace tundish::cuda
