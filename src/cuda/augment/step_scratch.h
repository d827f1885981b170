// Memory of a block besides the image and the second buffer of the same size: floats for sums or
// JPEG planes, and the image that a mix keeps. Only some operations need it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "augment/pixels/pixel_step.h"

namespace tundish::cuda {

// Returns the samples in the planes of a 4:2:0 JPEG: whole blocks of luma and two chroma planes.
TUNDISH_HOST_DEVICE std::size_t jpeg_samples(Size size) {
  const auto blocks = [](int side) { return static_cast<std::size_t>(side + 7) / 8; };
  const int half_x = (size.width + 1) / 2, half_y = (size.height + 1) / 2;
  return 64 * (blocks(size.width) * blocks(size.height) + 2 * blocks(half_x) * blocks(half_y));
}

TUNDISH_HOST_DEVICE std::size_t levels_of(Size size) {
  return 3 * static_cast<std::size_t>(size.width) * static_cast<std::size_t>(size.height);
}

// True if the planes fit into the memory of an image.
TUNDISH_HOST_DEVICE bool jpeg_fits(Size size) { return jpeg_samples(size) <= levels_of(size); }

inline bool needs_scratch(std::span<const PixelStep> steps, Size size) {
  return std::any_of(steps.begin(), steps.end(), [size](const PixelStep& step) {
    return step.op == PixelOp::elastic || step.op == PixelOp::mix_begin ||
           (step.op == PixelOp::jpeg && !jpeg_fits(size));
  });
}

// One float per level of the image, with room for the JPEG planes; rounded up so that the
// following memory is aligned to 16 bytes.
TUNDISH_HOST_DEVICE std::size_t scratch_floats(Size size) {
  const std::size_t levels = levels_of(size), samples = jpeg_samples(size) / sizeof(float);
  return ((levels > samples ? levels : samples) + 15) / 16 * 16;
}

// Bytes for one block: the floats, then the kept image.
TUNDISH_HOST_DEVICE std::size_t scratch_bytes(Size size) {
  return (sizeof(float) + 1) * scratch_floats(size);
}

}  // namespace tundish::cuda
