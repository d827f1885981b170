// timm's interpolation argument: a filter, or "random", which draws bilinear or bicubic for each
// image.
#pragma once

#include <array>
#include <cstdint>

#include "augment/filter.h"
#include "base/random.h"

namespace tundish {

enum class RandomFilter : std::uint8_t { nearest = 0, bilinear = 1, bicubic = 2, random = 3 };
constexpr std::array<const char*, 4> words(RandomFilter) {
  return {"nearest", "bilinear", "bicubic", "random"};
}

inline Filter draw_filter(RandomFilter filter, Random& random) {
  if (filter != RandomFilter::random) return static_cast<Filter>(filter);
  return random.below(2) == 0 ? Filter::bilinear : Filter::bicubic;
}

}  // namespace tundish
