// torchvision Normalize: (x - mean) / std per channel, in float32.
#pragma once

#include <array>

namespace tundish {

struct Normalize {
  std::array<float, 3> mean = {0.485f, 0.456f, 0.406f};  // ImageNet's
  std::array<float, 3> std = {0.229f, 0.224f, 0.225f};
};

// Two roundings to float32, never fused into one.
float normalize_value(float x, float mean, float std);

}  // namespace tundish
