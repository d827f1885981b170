#include "augment/operations/photometric/timm_random_erasing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "augment/operations/draw_normal.h"

namespace tundish {
namespace {

constexpr int kTries = 10;

// Python's int(round(x)), ties to even. Capped at 1e9, which is larger than any image.
int rounded(double x) { return static_cast<int>(std::nearbyint(std::min(x, 1e9))); }

// Draws an integer from low to high, both included.
int draw_int(int low, int high, Random& random) {
  return low + static_cast<int>(random.below(static_cast<std::uint64_t>(high - low) + 1));
}

// Draws one of `count` windows; empty if no try fits.
std::optional<Window> draw_window(const TimmRandomErasing& op, Size image, int count,
                                  Random& random) {
  const double area = static_cast<double>(image.width) * image.height;
  const double low = std::log(op.min_aspect);
  const double high = std::log(op.max_aspect.value_or(1.0 / op.min_aspect));
  for (int i = 0; i < kTries; ++i) {
    const double target = random.uniform(op.min_area, op.max_area) * area / count;
    const double aspect = std::exp(random.uniform(low, high));
    const int height = rounded(std::sqrt(target * aspect));
    const int width = rounded(std::sqrt(target / aspect));
    if (height >= image.height || width >= image.width) continue;
    const int y = draw_int(0, image.height - height, random);
    const int x = draw_int(0, image.width - width, random);
    if (width == 0 || height == 0) return std::nullopt;
    return Window{x, y, width, height};
  }
  return std::nullopt;
}

}  // namespace

void TimmRandomErasing::check() const {
  if (min_area > max_area) {
    refuse_argument(
        kName, fmt::format("min_area must not be above max_area ({}), not {}", max_area, min_area));
  }
  if (!(min_aspect > 0) || (max_aspect && !(*max_aspect > 0))) {
    refuse_argument(kName, "min_aspect and max_aspect must be above 0");
  }
  const double largest = max_aspect.value_or(1.0 / min_aspect);
  if (!std::isfinite(largest)) {
    refuse_argument(
        kName,
        fmt::format("1 / min_aspect must be finite without max_aspect, not 1 / {}", min_aspect));
  }
  if (min_aspect > largest) {
    refuse_argument(kName, fmt::format("min_aspect must not be above max_aspect ({}), not {}",
                                       largest, min_aspect));
  }
  if (max_count && min_count > *max_count) {
    refuse_argument(kName, fmt::format("min_count must not be above max_count ({}), not {}",
                                       *max_count, min_count));
  }
}

void TimmRandomErasing::check_on(Dtype dtype) const {
  if (dtype == Dtype::uint8) {
    refuse_argument(kName, "must come after Normalize, or after ToDtype to a float type");
  }
}

void TimmRandomErasing::plan_elements(View& view, Random& random) const {
  if (random.uniform() >= probability) return;
  const int count = draw_int(min_count, max_count.value_or(min_count), random);
  for (int i = 0; i < count; ++i) {
    const std::optional<Window> window = draw_window(*this, view.size(), count, random);
    if (!window) continue;
    Erasure erasure{.window = *window, .random = mode == TimmErasingMode::pixel};
    if (mode == TimmErasingMode::pixel) {
      erasure.key = random.next();
    } else if (mode == TimmErasingMode::rand) {
      for (float& value : erasure.value) value = static_cast<float>(draw_normal(random));
    }
    view.erase(erasure);
  }
}

}  // namespace tundish
