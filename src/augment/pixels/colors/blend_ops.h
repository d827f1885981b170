// Pillow 12's Image.blend of two levels, and the gray of a color. Shared by CPU and GPU.
#pragma once

#include <cstdint>

#include "base/host_device.h"

namespace tundish {

// Returns from + (to - from) * factor in float32, clipped to 0 .. 255 and truncated. Pillow clips
// only if the factor is outside 0 .. 1; inside that range clipping has no effect.
TUNDISH_HOST_DEVICE std::uint8_t blend_levels(int from, int to, float factor) {
  const float level = static_cast<float>(from) + factor * static_cast<float>(to - from);
  if (level <= 0.0f) return 0;
  if (level >= 255.0f) return 255;
  return static_cast<std::uint8_t>(level);
}

// Returns the gray of Pillow's mode L.
TUNDISH_HOST_DEVICE std::uint8_t gray_level(int red, int green, int blue) {
  return static_cast<std::uint8_t>((red * 19595 + green * 38470 + blue * 7471 + 0x8000) >> 16);
}

}  // namespace tundish
