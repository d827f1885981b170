// Tables of levels from what an image contains, as Pillow 12's ImageEnhance.Contrast and
// ImageOps make them. CPU and GPU share this.
#pragma once

#include <cstdint>

#include "base/host_device.h"

namespace tundish {

// The mean of the grays, to the nearest. Pillow divides doubles: the same, since a mean is either
// half way between two levels or 1 / (2 * pixels) away from that.
TUNDISH_HOST_DEVICE int mean_gray(std::uint64_t sum_of_grays, std::uint64_t pixels) {
  return static_cast<int>((2 * sum_of_grays + pixels) / (2 * pixels));
}

// The level that `level` becomes where the image has levels from `low` to `high`.
TUNDISH_HOST_DEVICE std::uint8_t autocontrast_level(int level, int low, int high) {
  if (high <= low) return static_cast<std::uint8_t>(level);
  const double scale = 255.0 / (high - low);
  const double offset = -low * scale;
  const int stretched = static_cast<int>(level * scale + offset);
  return static_cast<std::uint8_t>(stretched < 0 ? 0 : stretched > 255 ? 255 : stretched);
}

// How many levels a step of equalize's result stands for; 0: the image stays as it is.
// `last`: the pixels of the highest level that the image has.
TUNDISH_HOST_DEVICE std::uint32_t equalize_step(std::uint32_t pixels, std::uint32_t last) {
  return (pixels - last) / 255;
}

// `below`: the pixels of all lower levels.
TUNDISH_HOST_DEVICE std::uint8_t equalize_level(std::uint64_t below, std::uint32_t step) {
  const std::uint64_t level = (step / 2 + below) / step;
  return static_cast<std::uint8_t>(level > 255 ? 255 : level);
}

}  // namespace tundish
