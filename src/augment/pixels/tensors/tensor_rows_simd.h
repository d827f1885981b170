// TensorRows as loops that the compiler vectorizes. Included by one file per instruction
// set.
#pragma once

#include "augment/pixels/tensors/tensor_rows.h"

namespace tundish {
namespace {

void affine_places(float* to, const TensorLine& line, int y, Size size) {
  const float down = from_middle(y, size.height);
  for (int x = 0; x < size.width; ++x) {
    to[x] = tensor_place(line, from_middle(x, size.width), down);
  }
}

void elastic_places(float* to, const ElasticLine& line, int first, int step, int count) {
  for (int i = 0; i < count; ++i) to[i] = elastic_place(line, first + step * i, to[i]);
}

void saturate(std::uint8_t* rgb, std::size_t pixels, TensorBlend blend) {
  for (std::size_t i = 0; i < pixels; ++i, rgb += 3) {
    const float gray = tensor_gray(rgb[0], rgb[1], rgb[2]);
    for (int c = 0; c < 3; ++c) rgb[c] = blended(blend, rgb[c], gray);
  }
}

std::uint64_t sum_of_tensor_grays(const std::uint8_t* rgb, std::size_t pixels) {
  constexpr std::size_t kTogether = 4096;  // their sum fits 32 bits
  std::uint64_t sum = 0;
  for (std::size_t done = 0; done < pixels; done += kTogether) {
    const std::size_t end = done + kTogether < pixels ? done + kTogether : pixels;
    std::int32_t part = 0;
    for (std::size_t i = done; i < end; ++i) {
      const std::uint8_t* pixel = rgb + 3 * i;
      part += static_cast<std::int32_t>(tensor_gray(pixel[0], pixel[1], pixel[2]));
    }
    sum += static_cast<std::uint64_t>(part);
  }
  return sum;
}

void sharpen(std::uint8_t* to, const std::uint8_t* from, std::ptrdiff_t stride, TensorBlend blend) {
  const std::uint8_t *above = from - stride, *below = from + stride;
  for (std::ptrdiff_t i = 3; i + 3 < stride; ++i) {
    const int left = above[i - 3] + from[i - 3] + below[i - 3];
    const int middle = above[i] + 5 * from[i] + below[i];
    const int sum = left + middle + above[i + 3] + from[i + 3] + below[i + 3];
    to[i] = tensor_sharpened(blend, from[i], sum);
  }
}

}  // namespace
}  // namespace tundish
