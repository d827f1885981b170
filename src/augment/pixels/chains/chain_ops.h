// Arithmetic of a weighted sum of images, as in torchvision's AugMix: float32, without fused
// operations. Shared by CPU and GPU.
#pragma once

#include <cstdint>

#include "base/host_device.h"

namespace tundish {

// Returns a level's term of the sum. Weights are at least 0 and add up to 1.
TUNDISH_HOST_DEVICE float mixed_part(std::uint8_t level, float weight) {
  return weight * static_cast<float>(level);
}

// Truncates the sum to a level.
TUNDISH_HOST_DEVICE std::uint8_t mixed_level(float sum) {
  const int level = static_cast<int>(sum);
  return static_cast<std::uint8_t>(level > 255 ? 255 : level);
}

}  // namespace tundish
