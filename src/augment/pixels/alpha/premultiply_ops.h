// Multiplies colors by their alpha and divides them again, bit for bit like Pillow's conversions
// between "RGBA" and "RGBa". Pillow converts to "RGBa" to resize and warp images with alpha.
#pragma once

#include <cstdint>

#include "base/host_device.h"

namespace tundish {

TUNDISH_HOST_DEVICE std::uint8_t multiplied(std::uint8_t level, std::uint8_t alpha) {
  const unsigned product = unsigned{level} * alpha + 128;
  return static_cast<std::uint8_t>(((product >> 8) + product) >> 8);
}

TUNDISH_HOST_DEVICE std::uint8_t divided(std::uint8_t level, std::uint8_t alpha) {
  if (alpha == 0 || alpha == 255) return level;
  const unsigned quotient = 255u * level / alpha;
  return static_cast<std::uint8_t>(quotient < 255 ? quotient : 255);
}

}  // namespace tundish
