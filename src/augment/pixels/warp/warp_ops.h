// Operations that move pixels, as in Pillow 12's Image.transform(). Shared by CPU and GPU.
// Computes in double, in Pillow's order of operations; no multiplication may be fused with
// an addition (-ffp-contract=off, nvcc -fmad=false).
#pragma once

#include <cstddef>

#include "augment/pixels/pixel_step.h"

namespace tundish {

// Interleaved RGB with contiguous rows.
struct Pixels {
  const std::uint8_t* rgb;
  int width, height;

  TUNDISH_HOST_DEVICE const std::uint8_t* at(int x, int y) const {
    return rgb + 3 * (static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
                      static_cast<std::size_t>(x));
  }
};

// A place in an image; the center of pixel (0, 0) is (0.5, 0.5).
struct Spot {
  double x, y;
};

// Also false if a coordinate is NaN, for which Pillow defines no result.
TUNDISH_HOST_DEVICE bool is_inside(const Spot& place, int width, int height) {
  return place.x >= 0.0 && place.x < width && place.y >= 0.0 && place.y < height;
}

// Returns the place shown by pixel (x, y) of the result, for PixelOp::affine and perspective.
TUNDISH_HOST_DEVICE Spot shown_place(const PixelStep& step, int x, int y) {
  const double* a = step.value.data();
  const double across = x + 0.5, down = y + 0.5;
  Spot place{a[0] * across + a[1] * down + a[2], a[3] * across + a[4] * down + a[5]};
  if (step.op == PixelOp::perspective) {
    const double depth = a[6] * across + a[7] * down + 1.0;
    place = {place.x / depth, place.y / depth};
  }
  return place;
}

// --- filters: `place` is inside the image --------------------------------------------------------

// An image type has a width, a height, and at(x, y), the three levels of a pixel, like Pixels.

template <class Pixel>
TUNDISH_HOST_DEVICE void copy_pixel(std::uint8_t* to, const Pixel& from) {
  to[0] = from[0];
  to[1] = from[1];
  to[2] = from[2];
}

template <class Image>
TUNDISH_HOST_DEVICE void sample_nearest(std::uint8_t* to, const Image& image, const Spot& place) {
  copy_pixel(to, image.at(static_cast<int>(place.x), static_cast<int>(place.y)));
}

// Rounds down to an integer; |value| < 2^31.
TUNDISH_HOST_DEVICE int floor_of(double value) {
  const int whole = static_cast<int>(value);
  return whole > value ? whole - 1 : whole;
}

TUNDISH_HOST_DEVICE int clamp_to(int i, int n) { return i < 0 ? 0 : i < n ? i : n - 1; }

// Converts an int to a double. A GPU adds doubles faster than it converts.
TUNDISH_HOST_DEVICE double double_of(int value) {
#ifdef __CUDA_ARCH__
  constexpr int kExponent = 0x43300000;  // exponent of 2^52
  return __hiloint2double(kExponent, static_cast<int>(static_cast<unsigned>(value) ^ 0x80000000u)) -
         (0x1p52 + 0x1p31);
#else
  return value;
#endif
}
TUNDISH_HOST_DEVICE double double_of(double value) { return value; }

TUNDISH_HOST_DEVICE double lerp_at(double a, double b, double t) { return a + (b - a) * t; }

template <class Image>
TUNDISH_HOST_DEVICE void sample_bilinear(std::uint8_t* to, const Image& image, const Spot& place) {
  const double x = place.x - 0.5, y = place.y - 0.5;
  const int left = floor_of(x), top = floor_of(y);
  const double dx = x - left, dy = y - top;
  const int x0 = clamp_to(left, image.width), x1 = clamp_to(left + 1, image.width);
  const int y0 = clamp_to(top, image.height), y1 = clamp_to(top + 1, image.height);
  const auto p00 = image.at(x0, y0), p01 = image.at(x1, y0);
  const auto p10 = image.at(x0, y1), p11 = image.at(x1, y1);
  for (int c = 0; c < 3; ++c) {
    const double above = lerp_at(double_of(p00[c]), double_of(p01[c]), dx);
    const double below = lerp_at(double_of(p10[c]), double_of(p11[c]), dx);
    to[c] = static_cast<std::uint8_t>(lerp_at(above, below, dy));
  }
}

// Values are levels (int) or sums of weighted levels (double).
template <class Value>
TUNDISH_HOST_DEVICE double cubic_at(Value v1, Value v2, Value v3, Value v4, double t) {
  const Value p2 = -v1 + v3;
  const Value p3 = 2 * (v1 - v2) + v3 - v4;
  const Value p4 = -v1 + v2 - v3 + v4;
  return double_of(v2) + t * (double_of(p2) + t * (double_of(p3) + t * double_of(p4)));
}

TUNDISH_HOST_DEVICE std::uint8_t clipped_level(double value) {
  if (value <= 0.0) return 0;
  return value >= 255.0 ? 255 : static_cast<std::uint8_t>(value);
}

template <class Image>
TUNDISH_HOST_DEVICE void sample_bicubic(std::uint8_t* to, const Image& image, const Spot& place) {
  const double x = place.x - 0.5, y = place.y - 0.5;
  const int left = floor_of(x), top = floor_of(y);
  const double dx = x - left, dy = y - top;
  int column[4];
  for (int i = 0; i < 4; ++i) column[i] = clamp_to(left - 1 + i, image.width);
  double v[3][4];
  for (int i = 0; i < 4; ++i) {
    const int row = clamp_to(top - 1 + i, image.height);
    const auto p0 = image.at(column[0], row), p1 = image.at(column[1], row);
    const auto p2 = image.at(column[2], row), p3 = image.at(column[3], row);
    for (int c = 0; c < 3; ++c) v[c][i] = cubic_at<int>(p0[c], p1[c], p2[c], p3[c], dx);
  }
  for (int c = 0; c < 3; ++c) {
    to[c] = clipped_level(cubic_at(v[c][0], v[c][1], v[c][2], v[c][3], dy));
  }
}

template <class Image>
TUNDISH_HOST_DEVICE void sample_pixel(std::uint8_t* to, const Image& image, Filter filter,
                                      const Spot& place) {
  if (filter == Filter::nearest) return sample_nearest(to, image, place);
  if (filter == Filter::bilinear) return sample_bilinear(to, image, place);
  sample_bicubic(to, image, place);
}

// --- affine with the filter nearest --------------------------------------------------------------

// Pillow has three variants with different rounding: scaling or moving only, coordinates with 16
// fractional bits, and coordinates too large for 16 fractional bits.
enum class NearestWay : std::uint8_t { scaled, fixed, wide };

struct NearestAffine {
  NearestWay way = NearestWay::wide;
  // fixed: place of the result's first pixel, and the steps to the next pixel across and down.
  // Unsigned, because Pillow's sums may wrap around.
  std::uint32_t x = 0, x_across = 0, x_down = 0, y = 0, y_across = 0, y_down = 0;
  // scaled and wide: the same in double. Each pixel adds a step to the previous place.
  double wide_x = 0, wide_y = 0;
  double across[2] = {}, down[2] = {};  // steps of x and y
};

// Converts to 16 fractional bits. Returns the lowest number on overflow, as Pillow does on x86.
TUNDISH_HOST_DEVICE std::uint32_t fixed_of(double value) {
  const double scaled = value * 65536.0 + 0.5;
  if (!(scaled > -2147483648.0 && scaled < 2147483648.0)) return 0x80000000u;
  return static_cast<std::uint32_t>(floor_of(scaled));
}

TUNDISH_HOST_DEVICE bool fits_fixed(const double* a, int x, int y) {
  const double across = x * a[0] + y * a[1] + a[2], down = x * a[3] + y * a[4] + a[5];
  return across > -32768.0 && across < 32768.0 && down > -32768.0 && down < 32768.0;
}

// Prepares PixelOp::affine; `result` is the size of the result.
TUNDISH_HOST_DEVICE NearestAffine nearest_affine(const PixelStep& step, Size result) {
  const double* a = step.value.data();
  NearestAffine out;
  const int w = result.width, h = result.height;
  if (a[1] == 0 && a[3] == 0) {
    out.way = NearestWay::scaled;
    out.wide_x = a[2] + a[0] * 0.5;
    out.wide_y = a[5] + a[4] * 0.5;
  } else if (fits_fixed(a, 0, 0) && fits_fixed(a, w, h) && fits_fixed(a, 0, h) &&
             fits_fixed(a, w, 0)) {
    out.way = NearestWay::fixed;
    out.x = fixed_of(a[2] + a[0] * 0.5 + a[1] * 0.5);
    out.y = fixed_of(a[5] + a[3] * 0.5 + a[4] * 0.5);
    out.x_across = fixed_of(a[0]);
    out.x_down = fixed_of(a[1]);
    out.y_across = fixed_of(a[3]);
    out.y_down = fixed_of(a[4]);
  } else {
    out.wide_x = a[2] + a[1] * 0.5 + a[0] * 0.5;
    out.wide_y = a[5] + a[4] * 0.5 + a[3] * 0.5;
  }
  out.across[0] = a[0];
  out.across[1] = a[3];
  out.down[0] = a[1];
  out.down[1] = a[4];
  return out;
}

// Adds n steps one by one, because a product would be rounded differently.
TUNDISH_HOST_DEVICE double walked(double from, double step, int n) {
  for (int i = 0; i < n; ++i) from += step;
  return from;
}

TUNDISH_HOST_DEVICE std::int32_t fixed_x(const NearestAffine& a, int x, int y) {
  return static_cast<std::int32_t>(a.x + a.x_across * static_cast<std::uint32_t>(x) +
                                   a.x_down * static_cast<std::uint32_t>(y));
}
TUNDISH_HOST_DEVICE std::int32_t fixed_y(const NearestAffine& a, int x, int y) {
  return static_cast<std::int32_t>(a.y + a.y_across * static_cast<std::uint32_t>(x) +
                                   a.y_down * static_cast<std::uint32_t>(y));
}

// Returns the place shown by pixel (x, y) of the result.
TUNDISH_HOST_DEVICE Spot nearest_place(const NearestAffine& a, int x, int y) {
  switch (a.way) {
    case NearestWay::fixed:
      return {static_cast<double>(fixed_x(a, x, y) >> 16),
              static_cast<double>(fixed_y(a, x, y) >> 16)};
    case NearestWay::scaled:
      return {walked(a.wide_x, a.across[0], x), walked(a.wide_y, a.down[1], y)};
    default:
      return {walked(walked(a.wide_x, a.down[0], y), a.across[0], x),
              walked(walked(a.wide_y, a.down[1], y), a.across[1], x)};
  }
}

// --- any operation -------------------------------------------------------------------------------

// Computes pixel (x, y) of the result of affine or perspective; `result` is its size.
template <class Image>
TUNDISH_HOST_DEVICE void warped_pixel(std::uint8_t* to, const PixelStep& step, const Image& image,
                                      Size result, int x, int y) {
  const bool steps = step.op == PixelOp::affine && step.filter == Filter::nearest;
  const Spot place =
      steps ? nearest_place(nearest_affine(step, result), x, y) : shown_place(step, x, y);
  if (is_inside(place, image.width, image.height)) {
    sample_pixel(to, image, step.filter, place);
  } else {
    copy_pixel(to, step.fill.data());
  }
}

}  // namespace tundish
