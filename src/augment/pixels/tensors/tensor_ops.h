// torchvision v2's kernels for tensors of 8-bit levels, where the results differ from Pillow's. In
// float32, in torch's order of operations. torch fuses some multiplications with additions; only
// calls of fused() are fused here. Shared by CPU and GPU.
#pragma once

#include <cmath>

#include "augment/pixels/colors/sharpness_ops.h"
#include "augment/pixels/warp/warp_ops.h"

namespace tundish {

TUNDISH_HOST_DEVICE float fused(float a, float b, float c) { return fmaf(a, b, c); }

// --- colors -------------------------------------------------------------------------------------

// Converts a level to uint8: clips to 0 .. 255 and truncates.
TUNDISH_HOST_DEVICE std::uint8_t cut_level(float value) {
  value = value < 0.0f ? 0.0f : value;
  value = value > 255.0f ? 255.0f : value;
  return static_cast<std::uint8_t>(static_cast<int>(value));
}

struct TensorBlend {
  float factor, rest;  // factor + rest is 1
};
TUNDISH_HOST_DEVICE TensorBlend tensor_blend(double factor) {
  return {static_cast<float>(factor), static_cast<float>(1.0 - factor)};
}
TUNDISH_HOST_DEVICE std::uint8_t blended(TensorBlend blend, std::uint8_t level, float other) {
  return cut_level(fused(other, blend.rest, static_cast<float>(level) * blend.factor));
}

// Returns an integer.
TUNDISH_HOST_DEVICE float tensor_gray(std::uint8_t red, std::uint8_t green, std::uint8_t blue) {
  const float sum = fused(static_cast<float>(green), 0.587f, static_cast<float>(red) * 0.2989f);
  return static_cast<float>(static_cast<int>(fused(static_cast<float>(blue), 0.114f, sum)));
}

// torch adds float32 numbers. The result is the same as long as the sum is below 2^24.
TUNDISH_HOST_DEVICE float tensor_mean(std::uint64_t sum_of_grays, std::uint64_t pixels) {
  return static_cast<float>(sum_of_grays) / static_cast<float>(pixels);
}

TUNDISH_HOST_DEVICE std::uint8_t tensor_autocontrast_level(int level, int low, int high) {
  if (high <= low) return static_cast<std::uint8_t>(level);
  const float scale = static_cast<float>(high - low) * static_cast<float>(1.0 / 255.0);
  return cut_level(static_cast<float>(level - low) / scale);
}

// `sum`: see smoothed().
TUNDISH_HOST_DEVICE std::uint8_t tensor_sharpened(TensorBlend blend, std::uint8_t level, int sum) {
  const auto towards = static_cast<float>(smoothed(sum) - level);
  return cut_level(fused(towards, blend.rest, static_cast<float>(level)));
}

// --- pixels from other places --------------------------------------------------------------------

// A place in an image; the center of pixel (0, 0) is (0, 0). For image types see warp_ops.h.
struct TensorSpot {
  float x, y;
};

// Converts a coordinate of grid_sample(), where the image spans -1 to 1.
TUNDISH_HOST_DEVICE float place_of_grid(float grid, int side) {
  return fused(grid + 1.0f, static_cast<float>(side) * 0.5f, -0.5f);
}

// Rounds to the nearest integer, ties to even. |value| < 2^22.
TUNDISH_HOST_DEVICE int nearest_whole(float value) {
  constexpr float kWhole = 12582912.0f;  // 1.5 * 2^23: floats around it are integers
  return static_cast<int>((value + kWhole) - kWhole);
}

// Whether some pixel near the place is in the image. False if a coordinate is NaN.
template <class Image>
TUNDISH_HOST_DEVICE bool is_near(const TensorSpot& place, const Image& image) {
  return place.x > -1.0f && place.x < static_cast<float>(image.width) && place.y > -1.0f &&
         place.y < static_cast<float>(image.height);
}

template <class Image>
TUNDISH_HOST_DEVICE bool has_pixel(const Image& image, int x, int y) {
  return x >= 0 && x < image.width && y >= 0 && y < image.height;
}

// Weights of the upper left pixel, its right neighbor, and the two pixels below.
struct TensorWeights {
  int left, top;
  float weight[4];
};
TUNDISH_HOST_DEVICE TensorWeights tensor_weights(const TensorSpot& place) {
  TensorWeights out;
  out.left = floor_of(static_cast<double>(place.x));
  out.top = floor_of(static_cast<double>(place.y));
  const float right = place.x - static_cast<float>(out.left), left = 1.0f - right;
  const float below = place.y - static_cast<float>(out.top), above = 1.0f - below;
  out.weight[0] = left * above;
  out.weight[1] = right * above;
  out.weight[2] = left * below;
  out.weight[3] = right * below;
  return out;
}

template <class Image>
TUNDISH_HOST_DEVICE void tensor_bilinear(std::uint8_t* to, const PixelStep& step,
                                         const Image& image, const TensorSpot& place) {
  const TensorWeights w = tensor_weights(place);
  float share = 0.0f, sum[3] = {};  // sum of weights with a pixel; sums of levels
  for (int i = 0; i < 4; ++i) {
    const int x = w.left + (i & 1), y = w.top + (i >> 1);
    if (!has_pixel(image, x, y)) continue;
    const auto pixel = image.at(x, y);
    share = fused(1.0f, w.weight[i], share);
    for (int c = 0; c < 3; ++c) sum[c] = fused(static_cast<float>(pixel[c]), w.weight[i], sum[c]);
  }
  for (int c = 0; c < 3; ++c) {
    // torchvision multiplies by the share twice, too.
    const auto fill = static_cast<float>(step.fill[static_cast<std::size_t>(c)]);
    const float level = step.value[6] != 0.0 ? (sum[c] - fill) * share + fill : sum[c];
    to[c] = static_cast<std::uint8_t>(nearest_whole(level));
  }
}

// Computes the pixel at a place, for tensor_affine and elastic.
template <class Image>
TUNDISH_HOST_DEVICE void tensor_pixel(std::uint8_t* to, const PixelStep& step, const Image& image,
                                      const TensorSpot& place) {
  if (is_near(place, image)) {
    if (step.filter != Filter::nearest) return tensor_bilinear(to, step, image, place);
    const int x = nearest_whole(place.x), y = nearest_whole(place.y);
    if (has_pixel(image, x, y)) return copy_pixel(to, image.at(x, y));
  }
  copy_pixel(to, step.fill.data());
}

// One coordinate of tensor_affine: (x, y) relative to the image's middle shows ax + by + c.
struct TensorLine {
  float a, b, c;
  int side;  // side length of the image
};
TUNDISH_HOST_DEVICE TensorLine tensor_line(const PixelStep& step, int axis, int side) {
  const double* m = step.value.data() + 3 * axis;
  const float half = static_cast<float>(0.5 * side);
  return {static_cast<float>(m[0]) / half, static_cast<float>(m[1]) / half,
          static_cast<float>(m[2]) / half, side};
}
TUNDISH_HOST_DEVICE float from_middle(int at, int side) {
  return static_cast<float>(at) - static_cast<float>((side - 1) * 0.5);
}
TUNDISH_HOST_DEVICE float tensor_place(const TensorLine& line, float x, float y) {
  return place_of_grid(x * line.a + y * line.b + line.c, line.side);
}

}  // namespace tundish
