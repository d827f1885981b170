#include "augment/operations/resize_keep_ratio.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tundish {
namespace {

void check_range(const char* name, const std::array<double, 2>& range) {
  if (range[0] > 0 && range[0] <= range[1]) return;
  refuse_argument(ResizeKeepRatio::kName,
                  fmt::format("{} must be (min, max) of positive numbers, not ({}, {})", name,
                              range[0], range[1]));
}

// Python's round(x), ties to even, but at least one pixel.
int rounded(double x) {
  if (!(x <= kMaxPlannedSide)) {
    throw Error(ErrorCode::argument, {},
                fmt::format("ResizeKeepRatio: a side would be {} pixels", x));
  }
  return std::max(static_cast<int>(std::nearbyint(x)), 1);
}

}  // namespace

void ResizeKeepRatio::check() const {
  check_range("random_scale_range", random_scale_range);
  check_range("random_aspect_range", random_aspect_range);
}

void ResizeKeepRatio::plan(View& view, Random& random) const {
  const Size now = view.size();
  const double down = static_cast<double>(now.height) / size.height;
  const double across = static_cast<double>(now.width) / size.width;
  const double ratio = std::max(down, across) * longest + std::min(down, across) * (1.0 - longest);
  double factor_y = 1, factor_x = 1;
  if (random.uniform() < random_scale_prob) {
    double factor = random.uniform(random_scale_range[0], random_scale_range[1]);
    if (random_scale_area) factor = 1.0 / std::sqrt(factor);
    factor_y = factor_x = factor;
  }
  if (random.uniform() < random_aspect_prob) {
    const double low = std::log(random_aspect_range[0]), high = std::log(random_aspect_range[1]);
    const double aspect = std::sqrt(std::exp(random.uniform(low, high)));
    factor_y /= aspect;
    factor_x *= aspect;
  }
  const Size to = {rounded(now.width * factor_x / ratio), rounded(now.height * factor_y / ratio)};
  view.resize(to, draw_filter(interpolation, random));
}

}  // namespace tundish
