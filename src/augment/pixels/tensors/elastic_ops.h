// Source places of PixelOp::elastic. Each pixel has a random number per axis; the blurred numbers
// are the distance to the pixel that it shows. Shared by CPU and GPU.
#pragma once

#include "augment/pixels/noise/normal_ops.h"
#include "augment/pixels/tensors/tensor_ops.h"

namespace tundish {

// A multiple of 2^-23 in -1 .. 1, like torch.rand() * 2 - 1. `bits`: pixel_bits(); axis 0 is x.
TUNDISH_HOST_DEVICE float elastic_number(std::uint64_t bits, int axis) {
  const auto number = static_cast<std::int32_t>(bits >> (24 * axis) & 0xffffff);
  return static_cast<float>(number - 0x800000) * 0x1p-23f;
}

// Returns the kernel width of the blur, along both axes, for the sigma of one axis of the field.
TUNDISH_HOST_DEVICE int elastic_kernel(double sigma) {
  return sigma > 0.0 ? static_cast<int>(8.0 * sigma + 1.0) | 1 : 1;
}

// torch.linspace() over the centers of `side` pixels; the image spans -1 to 1.
struct ElasticLine {
  float first, last, step;
  float alpha;
  int side;
};
TUNDISH_HOST_DEVICE ElasticLine elastic_line(const PixelStep& step, int axis, int side) {
  ElasticLine out{};
  out.first = static_cast<float>((1.0 - side) / side);
  out.last = static_cast<float>((side - 1.0) / side);
  out.step = side > 1 ? (out.last - out.first) / static_cast<float>(side - 1) : 0.0f;
  out.alpha = static_cast<float>(step.value[static_cast<std::size_t>(axis)]);
  out.side = side;
  return out;
}

// Returns the coordinate that pixel `at` shows; `blurred` is its blurred random number.
TUNDISH_HOST_DEVICE float elastic_place(const ElasticLine& line, int at, float blurred) {
  const float middle = at < line.side / 2
                           ? fused(line.step, static_cast<float>(at), line.first)
                           : fused(-line.step, static_cast<float>(line.side - 1 - at), line.last);
  const float moved = blurred * line.alpha / static_cast<float>(line.side);
  return place_of_grid(middle + moved, line.side);
}

}  // namespace tundish
