#include "augment/operations/photometric/random_erasing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tundish {
namespace {

constexpr int kTries = 10;

// Python's int(round(x)), ties to even. Capped at 1e9, which is larger than any image.
int rounded(double x) { return static_cast<int>(std::nearbyint(std::min(x, 1e9))); }

}  // namespace

void RandomErasing::check() const {
  if (scale[0] > scale[1]) {
    refuse_argument(kName,
                    fmt::format("scale must be (min, max), not ({}, {})", scale[0], scale[1]));
  }
  if (ratio[0] > ratio[1] || ratio[0] <= 0.0) {
    refuse_argument(kName, fmt::format("ratio must be (min, max) of positive numbers, not ({}, {})",
                                       ratio[0], ratio[1]));
  }
  for (const double one : value.number) {
    if (!std::isfinite(static_cast<float>(one))) {
      refuse_argument(kName, fmt::format("value must be finite as float32, not {}", one));
    }
  }
}

void RandomErasing::check_on(Dtype dtype) const {
  if (dtype != Dtype::uint8) return;
  for (const double one : value.number) {
    if (one >= 0.0 && one <= 255.0) continue;
    refuse_argument(kName,
                    fmt::format("value must be a level from 0 to 255 before ToDtype and Normalize, "
                                "not {}; put RandomErasing after them",
                                one));
  }
}

// Draws the window to erase, if any.
std::optional<Window> RandomErasing::draw(Size image, Random& random) const {
  if (random.uniform() >= p) return std::nullopt;
  const double area = static_cast<double>(image.width) * image.height;
  const double low = std::log(ratio[0]), high = std::log(ratio[1]);
  for (int i = 0; i < kTries; ++i) {
    const double target = area * random.uniform(scale[0], scale[1]);
    const double aspect = std::exp(random.uniform(low, high));
    const int height = rounded(std::sqrt(target * aspect));
    const int width = rounded(std::sqrt(target / aspect));
    if (height >= image.height || width >= image.width) continue;
    const auto place = [&](int room) {
      return static_cast<int>(random.below(static_cast<std::uint64_t>(room) + 1));
    };
    const int y = place(image.height - height);
    const int x = place(image.width - width);
    if (width == 0 || height == 0) return std::nullopt;
    return Window{x, y, width, height};
  }
  return std::nullopt;
}

void RandomErasing::plan(View& view, Random& random) const {
  const std::optional<Window> window = draw(view.size(), random);
  if (!window) return;
  PixelStep step{.op = PixelOp::erase, .window = *window};
  if (value.random) {
    step.value[0] = 1;
    step.key = random.next();
  } else {
    for (std::size_t c = 0; c < 3; ++c) step.fill[c] = static_cast<std::uint8_t>(value.number[c]);
  }
  view.add(step);
}

void RandomErasing::plan_elements(View& view, Random& random) const {
  const std::optional<Window> window = draw(view.size(), random);
  if (!window) return;
  Erasure erasure{.window = *window, .random = value.random};
  if (value.random) {
    erasure.key = random.next();
  } else {
    for (std::size_t c = 0; c < 3; ++c) erasure.value[c] = static_cast<float>(value.number[c]);
  }
  view.erase(erasure);
}

}  // namespace tundish
