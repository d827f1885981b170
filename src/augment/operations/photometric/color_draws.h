// Random draws of the color transforms, and their conversion to pixel steps.
#pragma once

#include <array>
#include <utility>

#include "augment/plan.h"
#include "base/random.h"

namespace tundish {

inline constexpr double kMaxFactor = 1e30;  // a float32 holds 255 times this value

// torchvision draws a float32 and passes it to Pillow.
inline double draw_factor(Random& random, double low, double high) {
  return static_cast<float>(random.uniform(low, high));
}

// Hue offset that torchvision adds to Pillow's 8-bit hue; `factor`: -0.5 .. 0.5.
inline PixelStep hue_step(double factor) {
  return {.op = PixelOp::hue, .value = {static_cast<double>(static_cast<int>(factor * 255) & 255)}};
}

// Draws a permutation of 0 .. kCount - 1 with equal probability.
template <std::size_t kCount>
std::array<int, kCount> draw_order(Random& random) {
  std::array<int, kCount> order;
  for (std::size_t i = 0; i < kCount; ++i) order[i] = static_cast<int>(i);
  for (std::size_t i = kCount; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

inline PixelStep draw_channel_order(Random& random) {
  const std::array<int, 3> from = draw_order<3>(random);
  PixelStep step{.op = PixelOp::permute_channels};
  for (std::size_t i = 0; i < 3; ++i) step.value[i] = from[i];
  return step;
}

}  // namespace tundish
