// Tables of levels derived from an image's contents, as in Pillow 12's ImageEnhance.Contrast and
// ImageOps. Shared by CPU and GPU.
#pragma once

#include <cstdint>

#include "base/host_device.h"

namespace tundish {

// Returns the mean gray, rounded to nearest. Pillow divides doubles with the same result: a mean is
// halfway between two levels or at least 1 / (2 * pixels) away from halfway.
TUNDISH_HOST_DEVICE int mean_gray(std::uint64_t sum_of_grays, std::uint64_t pixels) {
  return static_cast<int>((2 * sum_of_grays + pixels) / (2 * pixels));
}

// Stretches `level` of an image whose levels range from `low` to `high`.
TUNDISH_HOST_DEVICE std::uint8_t autocontrast_level(int level, int low, int high) {
  if (high <= low) return static_cast<std::uint8_t>(level);
  const double scale = 255.0 / (high - low);
  const double offset = -low * scale;
  const int stretched = static_cast<int>(level * scale + offset);
  return static_cast<std::uint8_t>(stretched < 0 ? 0 : stretched > 255 ? 255 : stretched);
}

// Returns the pixels per output level of equalize; 0 leaves the image unchanged.
// `last`: number of pixels of the image's highest level.
TUNDISH_HOST_DEVICE std::uint32_t equalize_step(std::uint32_t pixels, std::uint32_t last) {
  return (pixels - last) / 255;
}

// `below`: number of pixels of all lower levels.
TUNDISH_HOST_DEVICE std::uint8_t equalize_level(std::uint64_t below, std::uint32_t step) {
  const std::uint64_t level = (step / 2 + below) / step;
  return static_cast<std::uint8_t>(level > 255 ? 255 : level);
}

}  // namespace tundish
