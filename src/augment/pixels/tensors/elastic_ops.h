// Where the pixels of PixelOp::elastic come from: each has a random number per axis, these are
// blurred, and say how far away the pixel is that it shows. CPU and GPU share this.
#pragma once

#include "augment/pixels/noise/normal_ops.h"
#include "augment/pixels/tensors/tensor_ops.h"

namespace tundish {

// From -1 to 1, a multiple of 2^-23 as torch.rand() * 2 - 1 is. `bits`: pixel_bits(); axis 0 is x.
TUNDISH_HOST_DEVICE float elastic_number(std::uint64_t bits, int axis) {
  const auto number = static_cast<std::int32_t>(bits >> (24 * axis) & 0xffffff);
  return static_cast<float>(number - 0x800000) * 0x1p-23f;
}

// Pixels of the blur's kernel, along both axes, for the sigma of the field's own axis.
TUNDISH_HOST_DEVICE int elastic_kernel(double sigma) {
  return sigma > 0.0 ? static_cast<int>(8.0 * sigma + 1.0) | 1 : 1;
}

// torch.linspace() of the middles of `side` pixels, where the image is between -1 and 1.
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

// The coordinate that pixel `at` shows; `blurred`: of its random number.
TUNDISH_HOST_DEVICE float elastic_place(const ElasticLine& line, int at, float blurred) {
  const float middle = at < line.side / 2
                           ? fused(line.step, static_cast<float>(at), line.first)
                           : fused(-line.step, static_cast<float>(line.side - 1 - at), line.last);
  const float moved = blurred * line.alpha / static_cast<float>(line.side);
  return place_of_grid(middle + moved, line.side);
}

}  // namespace tundish
