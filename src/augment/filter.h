// Filters and padding modes, and the filter arithmetic shared by CPU and GPU.
#pragma once

#include <array>
#include <cstdint>

#include "base/host_device.h"

namespace tundish {

enum class Filter : std::uint8_t { nearest = 0, bilinear = 1, bicubic = 2 };
enum class PadMode : std::uint8_t { constant = 0, edge = 1, reflect = 2, symmetric = 3 };
constexpr std::array<const char*, 3> words(Filter) { return {"nearest", "bilinear", "bicubic"}; }
constexpr std::array<const char*, 4> words(PadMode) {
  return {"constant", "edge", "reflect", "symmetric"};
}

// Returns which of n pixels is at place i of the padded line; -1 for `fill`.
// Padding wider than the line keeps reflecting, like NumPy.
TUNDISH_HOST_DEVICE int padded_index(int i, int n, PadMode mode) {
  if (i >= 0 && i < n) return i;
  if (mode == PadMode::constant) return -1;
  if (mode == PadMode::edge || n == 1) return i < 0 ? 0 : n - 1;
  // The line and its mirror image alternate; reflect does not repeat the two ends.
  const int repeat = mode == PadMode::reflect ? 1 : 0;
  const int period = 2 * n - 2 * repeat;
  const int place = ((i % period) + period) % period;
  return place < n ? place : 2 * n - 1 - repeat - place;
}

// Half the width of a filter in input samples at scale 1; filter_value() is its value at x.
TUNDISH_HOST_DEVICE double filter_support(Filter filter) {
  return filter == Filter::bicubic ? 2.0 : 1.0;
}

TUNDISH_HOST_DEVICE double filter_value(Filter filter, double x) {
  if (x < 0.0) x = -x;
  if (filter == Filter::bilinear) return x < 1.0 ? 1.0 - x : 0.0;
  constexpr double a = -0.5;
  if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
  if (x < 2.0) return (((x - 5.0) * x + 8.0) * x - 4.0) * a;
  return 0.0;
}

constexpr int kWeightBits = 22;

// A line of `in` samples resized to `out` by Pillow 12: the inputs and weights of each output.
// Computes in double, in Pillow's order of operations. No multiplication may be fused with an
// addition (-ffp-contract=off, nvcc -fmad=false). For filters that interpolate, in != out.
struct ResizedLine {
  int in = 0;
  Filter filter = Filter::bilinear;
  double scale = 1.0, support = 1.0, inverse = 1.0;

  TUNDISH_HOST_DEVICE ResizedLine(int in, int out, Filter filter) : in(in), filter(filter) {
    scale = static_cast<double>(in) / out;
    const double filter_scale = scale < 1.0 ? 1.0 : scale;
    support = filter_support(filter) * filter_scale;
    inverse = 1.0 / filter_scale;
  }

  TUNDISH_HOST_DEVICE double center(int i) const { return (i + 0.5) * scale; }

  // Returns the first input of output i; its inputs are first(i), ..., end(i) - 1.
  TUNDISH_HOST_DEVICE int first(int i) const {
    const int from = static_cast<int>(center(i) - support + 0.5);
    return from < 0 ? 0 : from;
  }
  TUNDISH_HOST_DEVICE int end(int i) const {
    const int to = static_cast<int>(center(i) + support + 0.5);
    return to > in ? in : to;
  }
  // Upper bound of the inputs of an output.
  TUNDISH_HOST_DEVICE int most_inputs() const {
    const double most = 2.0 * support + 1.0;
    return most < in ? static_cast<int>(most) : in;
  }

  // Returns the distance of an input from the center of an output, in units of the filter.
  TUNDISH_HOST_DEVICE double distance(int input, double center) const {
    return (input - center + 0.5) * inverse;
  }
  // Returns the weight of input first(i) + k before normalization to a sum of 1.
  TUNDISH_HOST_DEVICE double value(int i, int k) const {
    return filter_value(filter, distance(k + first(i), center(i)));
  }
};

// Returns value / sum with kWeightBits fractional bits.
TUNDISH_HOST_DEVICE std::int32_t rounded_weight(double value, double sum) {
  const double share = sum != 0.0 ? value / sum : value;
  return static_cast<std::int32_t>((share < 0 ? -0.5 : 0.5) + share * (1 << kWeightBits));
}

// Pillow's nearest adds the scale once per output instead of multiplying.
TUNDISH_HOST_DEVICE int nearest_input(int in, int out, int i) {
  const double scale = static_cast<double>(in) / out;
  double place = scale * 0.5;
  for (int k = 0; k < i; ++k) place += scale;
  const int at = static_cast<int>(place);
  return at < in - 1 ? at : in - 1;
}

}  // namespace tundish
