// Arithmetic of the blurs, shared by CPU and GPU.
//
// Gaussian: torchvision applies a two-dimensional float32 kernel. This code applies one axis after
// the other in float32, in a fixed order, without fused operations. The result is rounded
// once, so it differs from torchvision only next to a half.
//
// Box: Pillow's ImageFilter.GaussianBlur, three box blurs along each axis in 8.24 fixed-point
// numbers.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/host_device.h"

namespace tundish {

// A Gaussian blur with a larger kernel runs on the CPU even if a loader delivers to a GPU. The same
// applies to PixelOp::elastic, which blurs its field.
inline constexpr int kMaxGaussianKernel = 127;

// Computes the weights of torchvision's Gaussian kernel along one axis: the middle, then each
// distance. Returns their number, kernel_size / 2 + 1 at most. Weights below 2^-24 at the end are
// omitted: they would change a level by less than the rounding of float32. `ratio`: exp(-1 / (2
// sigma^2)).
TUNDISH_HOST_DEVICE int gaussian_weights(float* weight, int kernel_size, double ratio) {
  const double squared = ratio * ratio;
  double sum = 1.0, value = 1.0, factor = ratio;
  for (int d = 1; d <= kernel_size / 2; ++d, factor *= squared) {
    value *= factor;
    sum += 2.0 * value;
  }
  value = 1.0;
  factor = ratio;
  int count = 0;
  for (; count <= kernel_size / 2; ++count) {
    if (count > 0) {
      value *= factor;
      factor *= squared;
      if (value < sum * 0x1p-24) break;
    }
    weight[count] = static_cast<float>(value / sum);
  }
  return count;
}

// `weight` is for the middle, then for each distance; read(d) returns the sample at distance d.
template <class Read>
TUNDISH_HOST_DEVICE float gaussian_sum(const float* weight, int reach, const Read& read) {
  float sum = weight[0] * read(0);
  for (int d = 1; d <= reach; ++d) sum += weight[d] * (read(-d) + read(d));
  return sum;
}

// Rounds 0 .. 255.5 to the nearest integer, ties to even.
constexpr float kRoundingFloat = 8388608.0f;  // floats from here on are integers
TUNDISH_HOST_DEVICE std::uint8_t level_of_sum(float sum) {
  const float whole = (sum + kRoundingFloat) - kRoundingFloat;
  return static_cast<std::uint8_t>(whole);
}

constexpr int kBoxPasses = 3;           // along each axis
constexpr double kMaxBlurRadius = 128;  // limit at which the sum of a box fits 16 bits

// A box that spans 2 * radius + 1 samples, and a fraction of one more at both ends.
struct Box {
  int radius;
  std::uint32_t whole, part;  // weights, 24 fractional bits
};

// Pillow 12's _gaussian_blur_radius() and the start of ImagingHorizontalBoxBlur(), in float32 where
// Pillow uses float32.
TUNDISH_HOST_DEVICE Box box_of(double gaussian_radius) {
  const float given = static_cast<float>(gaussian_radius);
  const float variance = given * given / kBoxPasses;
  const float length = static_cast<float>(sqrt(12.0 * static_cast<double>(variance) + 1.0));
  const float l = static_cast<float>(floor((static_cast<double>(length) - 1.0) / 2.0));
  float rest = (2 * l + 1) * (l * (l + 1) - 3 * variance);
  rest /= 6 * (variance - (l + 1) * (l + 1));
  const float radius = l + rest;
  constexpr std::uint32_t kOne = 1u << 24;
  Box box{};
  box.radius = static_cast<int>(radius);
  box.whole = static_cast<std::uint32_t>(static_cast<float>(kOne) / (radius * 2 + 1));
  box.part = (kOne - static_cast<std::uint32_t>(box.radius * 2 + 1) * box.whole) / 2;
  return box;
}

// `inside`: sum of the samples that the box spans; `ends`: sum of the two samples next to the box.
TUNDISH_HOST_DEVICE std::uint8_t box_level(const Box& box, std::uint32_t inside,
                                           std::uint32_t ends) {
  return static_cast<std::uint8_t>((inside * box.whole + ends * box.part + (1u << 23)) >> 24);
}

}  // namespace tundish
