// Random pixel operations with random numbers, for tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "augment/pixels/pixel_step.h"
#include "augment/pixels/warp/random_warp.h"
#include "base/random.h"
#include "base/testing.h"

namespace tundish {

// Draws the numbers of an operation on colors or of sharpness.
inline void set_random_colors(PixelStep& step, Random& random) {
  switch (step.op) {
    case PixelOp::brightness:
    case PixelOp::saturation:
    case PixelOp::contrast:
    case PixelOp::sharpness:
      step.value[0] = random.below(4) == 0 ? static_cast<double>(random.below(3)) * 0.5
                                           : random.uniform(0, random.below(2) == 0 ? 1 : 8);
      break;
    case PixelOp::hue:
      step.value[0] = static_cast<double>(random.below(256));
      break;
    case PixelOp::permute_channels: {
      const auto first = random.below(3), second = (first + 1 + random.below(2)) % 3;
      step.value = {static_cast<double>(first), static_cast<double>(second),
                    static_cast<double>(3 - first - second)};
      break;
    }
    default:
      break;
  }
}

// Draws the numbers of blurs, JPEG, noise and erasing.
inline void set_random_blur(PixelStep& step, Random& random, Size image) {
  if (step.op == PixelOp::gaussian_blur) {
    const bool large = random.below(8) == 0;
    const auto kernel = [&](int side) {
      return 2.0 * between(random, 0, std::min(side - 1, large ? 63 : 12)) + 1;
    };
    const double most = large ? 20 : 4;
    const double x = random.uniform(0.1, most), y = random.uniform(0.1, most);
    step.value = {kernel(image.width),      kernel(image.height),    x, y,
                  std::exp(-0.5 / (x * x)), std::exp(-0.5 / (y * y))};
  }
  if (step.op == PixelOp::box_blur) step.value[0] = random.uniform(0, 1) * random.uniform(0, 20);
  if (step.op == PixelOp::jpeg) step.value[0] = between(random, 1, 100);
  if (kind_of(step.op) == PixelKind::noise) step.key = random.next();
  if (step.op == PixelOp::noise) {
    step.value = {random.uniform(-1, 1), random.uniform(), static_cast<double>(random.below(2))};
  }
  if (step.op == PixelOp::erase) {
    step.value[0] = static_cast<double>(random.below(2));
    step.fill = {1, 2, 3};
    const int x = between(random, 0, image.width - 1), y = between(random, 0, image.height - 1);
    step.window = {x, y, between(random, 1, image.width - x), between(random, 1, image.height - y)};
  }
}

// Draws the numbers of elastic and of operations on tensors.
inline void set_random_tensors(PixelStep& step, Random& random, Size image) {
  const bool moves = step.op == PixelOp::tensor_affine || step.op == PixelOp::elastic;
  if (!moves) {
    if (values_of(step.op) > 0) step.value[0] = random.uniform(0, 2);
    return;
  }
  step.filter = random.below(3) ? Filter::bilinear : Filter::nearest;
  const bool filled = random.below(2) == 0;
  for (std::uint8_t& level : step.fill) {
    level = filled ? static_cast<std::uint8_t>(random.below(256)) : std::uint8_t{0};
  }
  if (step.op == PixelOp::tensor_affine) {
    const double angle = random.uniform(-1, 1);
    step.value = {std::cos(angle),  random.uniform(-0.5, 0.5), random.uniform(-9, 9),
                  -std::sin(angle), random.uniform(0.5, 1.5),  between(random, -9, 9) * 0.5};
  } else {
    const int most = random.below(8) == 0 ? 64 : 15;
    const auto sigma = [&] {
      const int reach = between(random, 0, std::min({image.width, image.height, most}) - 1);
      return reach == 0 ? 0.1 : reach / 4.0;  // sigma for a kernel of 2 * reach + 1
    };
    const double x = sigma(), y = sigma();
    step.value = {random.uniform(0, 90),    random.uniform(0, 90),   x, y,
                  std::exp(-0.5 / (x * x)), std::exp(-0.5 / (y * y))};
    if (random.below(8) == 0) step.value[2] = step.value[3] = 0;
    step.key = random.next();
  }
  step.value[6] = filled || random.below(2) ? 1 : 0;
}

// Draws any operation but PixelKind::mix, whose steps only occur together. Operations not handled
// above get numbers between 0 and 2.
inline PixelStep random_step(Random& random, Size image) {
  PixelStep step{.op = static_cast<PixelOp>(random.below(static_cast<int>(PixelOp::mix_begin)))};
  for (int i = 0; i < values_of(step.op); ++i) {
    step.value[static_cast<std::size_t>(i)] = random.uniform(0, 2);
  }
  if (kind_of(step.op) == PixelKind::tensors || step.op == PixelOp::elastic) {
    set_random_tensors(step, random, image);
    return step;
  }
  if (step.op == PixelOp::posterize) step.value[0] = static_cast<double>(random.below(9));
  if (step.op == PixelOp::solarize) step.value[0] = random.uniform(0, 257);
  if (step.op == PixelOp::solarize_add) {
    step.value = {static_cast<double>(random.below(256)), static_cast<double>(random.below(257))};
  }
  set_random_colors(step, random);
  set_random_blur(step, random, image);
  if (kind_of(step.op) == PixelKind::places) random_warp(step, random, image);
  return step;
}

// Appends a whole mix: one to four chains of steps that keep the size and satisfy `takes`.
template <class Takes>
void add_random_mix(std::vector<PixelStep>& out, Random& random, Size image, const Takes& takes) {
  const int chains = between(random, 1, 4);
  const double weight = 1.0 / (chains + 1);
  out.push_back({.op = PixelOp::mix_begin, .value = {weight}});
  for (int chain = 0; chain < chains; ++chain) {
    for (int n = between(random, 0, 3); n > 0; --n) {
      PixelStep step = random_step(random, image);
      step.size = {};
      if (takes(step)) out.push_back(step);
    }
    out.push_back({.op = PixelOp::mix_add, .value = {weight}});
  }
  out.push_back({.op = PixelOp::mix_end});
}

}  // namespace tundish
