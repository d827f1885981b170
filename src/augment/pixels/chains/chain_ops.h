// The arithmetic of a weighted sum of images, as torchvision's AugMix does it: in float32, nothing
// fused. CPU and GPU share this.
#pragma once

#include <cstdint>

#include "base/host_device.h"

namespace tundish {

// A level's part of the sum. Weights are at least 0, and 1 together.
TUNDISH_HOST_DEVICE float mixed_part(std::uint8_t level, float weight) {
  return weight * static_cast<float>(level);
}

// The fraction is dropped.
TUNDISH_HOST_DEVICE std::uint8_t mixed_level(float sum) {
  const int level = static_cast<int>(sum);
  return static_cast<std::uint8_t>(level > 255 ? 255 : level);
}

}  // namespace tundish
