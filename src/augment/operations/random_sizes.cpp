#include "augment/operations/random_sizes.h"

#include <algorithm>

#include "augment/operations/resize.h"
#include "base/error.h"

namespace tundish {
namespace {

// Python's int(x), but at least one pixel; torchvision fails for 0.
int whole(double x, const char* name) {
  if (!(x <= kMaxPlannedSide)) {
    throw Error(ErrorCode::argument, {}, fmt::format("{}: a side would be {} pixels", name, x));
  }
  return std::max(static_cast<int>(x), 1);
}

}  // namespace

void ScaleJitter::check() const {
  const auto [small, large] = scale_range;
  if (small <= large && large > 0) return;
  refuse_argument(
      kName, fmt::format("scale_range must be (min, max) of positive numbers, not ({}, {})", small,
                         large));
}

// Computes in float32 like torchvision, because torch.rand(1) returns float32.
void ScaleJitter::plan(View& view, Random& random) const {
  const Size now = view.size();
  const float share = static_cast<float>(random.next() >> 40) * 0x1p-24f;
  const auto spread = static_cast<float>(scale_range[1] - scale_range[0]);
  const float scale = static_cast<float>(scale_range[0]) + share * spread;
  const double fits = std::min(static_cast<double>(target_size[1]) / now.height,
                               static_cast<double>(target_size[0]) / now.width);
  const float ratio = static_cast<float>(fits) * scale;
  view.resize({whole(static_cast<float>(now.width) * ratio, kName),
               whole(static_cast<float>(now.height) * ratio, kName)},
              interpolation);
}

void RandomShortestSize::check() const {
  for (const int side : min_size.values) {
    if (side >= 1 && side <= kMaxSide) continue;
    refuse_argument(kName, fmt::format("min_size must be from 1 to {}, not {}", kMaxSide, side));
  }
  if (min_size.values.empty()) refuse_argument(kName, "min_size must be given");
}

void RandomShortestSize::plan(View& view, Random& random) const {
  const Size now = view.size();
  const int side = min_size.values[random.below(min_size.values.size())];
  double ratio = static_cast<double>(side) / std::min(now.width, now.height);
  if (max_size) {
    ratio = std::min(ratio, static_cast<double>(*max_size) / std::max(now.width, now.height));
  }
  view.resize({whole(now.width * ratio, kName), whole(now.height * ratio, kName)}, interpolation);
}

void RandomResize::check() const {
  if (min_size < max_size) return;
  refuse_argument(
      kName, fmt::format("max_size must be larger than min_size ({}), not {}", min_size, max_size));
}

void RandomResize::plan(View& view, Random& random) const {
  const auto lengths = static_cast<std::uint64_t>(max_size - min_size);
  const int side = min_size + static_cast<int>(random.below(lengths));
  Resize{.size = {side, 0}, .interpolation = interpolation}.plan(view, random);
}

}  // namespace tundish
