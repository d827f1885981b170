// Memory of a block of threads beside the image and the other one of its size: floats for sums, or
// planes of a JPEG; and the image that a mix keeps. Only some operations need it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "augment/pixels/pixel_step.h"

namespace tundish::cuda {

// Samples of the planes of a JPEG of 4:2:0, whole blocks of luma and of two chromas.
TUNDISH_HOST_DEVICE std::size_t jpeg_samples(Size size) {
  const auto blocks = [](int side) { return static_cast<std::size_t>(side + 7) / 8; };
  const int half_x = (size.width + 1) / 2, half_y = (size.height + 1) / 2;
  return 64 * (blocks(size.width) * blocks(size.height) + 2 * blocks(half_x) * blocks(half_y));
}

TUNDISH_HOST_DEVICE std::size_t levels_of(Size size) {
  return 3 * static_cast<std::size_t>(size.width) * static_cast<std::size_t>(size.height);
}

// The planes take the place of an image, if that is large enough.
TUNDISH_HOST_DEVICE bool jpeg_fits(Size size) { return jpeg_samples(size) <= levels_of(size); }

inline bool needs_scratch(std::span<const PixelStep> steps, Size size) {
  return std::any_of(steps.begin(), steps.end(), [size](const PixelStep& step) {
    return step.op == PixelOp::elastic || step.op == PixelOp::mix_begin ||
           (step.op == PixelOp::jpeg && !jpeg_fits(size));
  });
}

// One for each level of the image, room for the planes of a JPEG, and so many that what follows is
// at a multiple of 16 bytes.
TUNDISH_HOST_DEVICE std::size_t scratch_floats(Size size) {
  const std::size_t levels = levels_of(size), samples = jpeg_samples(size) / sizeof(float);
  return ((levels > samples ? levels : samples) + 15) / 16 * 16;
}

// For one block: the floats, then the kept image.
TUNDISH_HOST_DEVICE std::size_t scratch_bytes(Size size) {
  return (sizeof(float) + 1) * scratch_floats(size);
}

}  // namespace tundish::cuda
