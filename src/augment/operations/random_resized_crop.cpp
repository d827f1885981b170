#include "augment/operations/random_resized_crop.h"

#include <algorithm>
#include <cmath>

namespace tundish {
namespace {

constexpr int kTries = 10;

// Python's int(round(x)), ties to even. Capped at 1e9, which is larger than any image.
int rounded(double x) { return static_cast<int>(std::nearbyint(std::min(x, 1e9))); }

// Returns the centered window. A side rounded to 0 becomes one pixel: a ratio above 2 (below 1/2)
// does this to an image one pixel wide (high).
Window center(Size image, int width, int height) {
  width = std::max(width, 1);
  height = std::max(height, 1);
  return {(image.width - width) / 2, (image.height - height) / 2, width, height};
}

Window choose(Size image, const RandomResizedCrop& op, Random& random) {
  const double area = static_cast<double>(image.width) * image.height;
  const double low = std::log(op.ratio[0]);
  const double high = std::log(op.ratio[1]);
  for (int i = 0; i < kTries; ++i) {
    const double target = area * random.uniform(op.scale[0], op.scale[1]);
    const double ratio = std::exp(random.uniform(low, high));
    const int width = rounded(std::sqrt(target * ratio));
    const int height = rounded(std::sqrt(target / ratio));
    if (width <= 0 || width > image.width || height <= 0 || height > image.height) continue;
    const auto draw = [&](int room) {
      return static_cast<int>(random.below(static_cast<std::uint64_t>(room) + 1));
    };
    const int y = draw(image.height - height);
    const int x = draw(image.width - width);
    return {x, y, width, height};
  }
  // No random window fits: takes the largest central window with an allowed ratio.
  const double ratio = static_cast<double>(image.width) / image.height;
  if (ratio < op.ratio[0]) return center(image, image.width, rounded(image.width / op.ratio[0]));
  if (ratio > op.ratio[1]) return center(image, rounded(image.height * op.ratio[1]), image.height);
  return center(image, image.width, image.height);
}

}  // namespace

void RandomResizedCrop::check() const {
  const auto [small, large] = scale;
  if (small > large || large <= 0.0) {
    refuse_argument(kName, fmt::format("scale must be (min, max) of positive numbers, not ({}, {})",
                                       small, large));
  }
  const auto [tall, wide] = ratio;
  if (tall > wide || tall <= 0.0) {
    refuse_argument(kName, fmt::format("ratio must be (min, max) of positive numbers, not ({}, {})",
                                       tall, wide));
  }
}

void RandomResizedCrop::plan(View& view, Random& random) const {
  view.crop(choose(view.size(), *this, random));
  view.resize(size, interpolation);
}

}  // namespace tundish
