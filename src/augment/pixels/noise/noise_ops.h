// Noise and erasing on 8-bit levels, as in torchvision's kernels for uint8 tensors. Shared by CPU
// and GPU.
#pragma once

#include "augment/pixels/noise/normal_ops.h"
#include "augment/pixels/pixel_step.h"

namespace tundish {

// Noise that PixelOp::noise adds for a normal number, truncated to 16 bits.
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

// Level of PixelOp::erase with value[0] == 1: a normal number cast to uint8, mostly 0, 1 and 255.
TUNDISH_HOST_DEVICE std::uint8_t normal_level(float normal) {
  return static_cast<std::uint8_t>(static_cast<int>(normal));
}

}  // namespace tundish
