// The slow twin of what depends on colors, grays or counts of levels, and of sharpness.
#pragma once

#include <cstdint>
#include <vector>

#include "augment/pixels/pixel_step.h"

namespace tundish {

// The step is of PixelKind::colors or statistics, or sharpness.
void change_colors_reference(const PixelStep& step, std::vector<std::uint8_t>& rgb, Size size);

// One color as Pillow's Convert.c computes it, in floats and doubles.
struct SlowColor {
  std::uint8_t part[3];
};
SlowColor hsv_reference(const SlowColor& rgb);
SlowColor rgb_reference(const SlowColor& hsv);

}  // namespace tundish
