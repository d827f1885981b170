// Noise and erasing on 8-bit levels, as torchvision's kernels for uint8 tensors compute them. CPU
// and GPU share this.
#pragma once

#include "augment/pixels/noise/normal_ops.h"
#include "augment/pixels/pixel_step.h"

namespace tundish {

// What PixelOp::noise adds to levels, for a normal number: truncated to 16 bits.
struct NoiseScale {
  float mean, sigma;  // in levels
};
TUNDISH_HOST_DEVICE NoiseScale noise_scale(const PixelStep& step) {
  return {static_cast<float>(step.value[0] * 255), static_cast<float>(step.value[1] * 255)};
}
TUNDISH_HOST_DEVICE int noise_shift(NoiseScale scale, float normal) {
  float shift = scale.mean + normal * scale.sigma;
  shift = shift > 32767.0f ? 32767.0f : shift;
  shift = shift < -32768.0f ? -32768.0f : shift;
  return static_cast<int>(shift);
}

TUNDISH_HOST_DEVICE std::uint8_t noisy_level(std::uint8_t level, int shift, bool clip) {
  const int sum = level + shift;
  if (!clip) return static_cast<std::uint8_t>(sum);
  return static_cast<std::uint8_t>(sum < 0 ? 0 : sum > 255 ? 255 : sum);
}

// The level of PixelOp::erase, value[0] == 1: a normal number as uint8, so most are 0, 1 and 255.
TUNDISH_HOST_DEVICE std::uint8_t normal_level(float normal) {
  return static_cast<std::uint8_t>(static_cast<int>(normal));
}

}  // namespace tundish
