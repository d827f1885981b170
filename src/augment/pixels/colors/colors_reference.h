// Reference implementation of operations on colors, grays and counts of levels, and of sharpness.
#pragma once

#include <cstdint>
#include <vector>

#include "augment/pixels/pixel_step.h"

namespace tundish {

// Applies a step of PixelKind::colors or statistics, or sharpness.
void change_colors_reference(const PixelStep& step, std::vector<std::uint8_t>& rgb, Size size);

// A color computed in floats and doubles, as in Pillow's Convert.c.
struct SlowColor {
  std::uint8_t part[3];
};
SlowColor hsv_reference(const SlowColor& rgb);
SlowColor rgb_reference(const SlowColor& hsv);

}  // namespace tundish
