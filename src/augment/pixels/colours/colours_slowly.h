// The slow twin of what depends on colours, greys or counts of levels, and of sharpness.
#pragma once

#include <cstdint>
#include <vector>

#include "augment/pixels/pixel_step.h"

namespace tundish {

// The step is of PixelKind::colours or statistics, or sharpness.
void change_colours_slowly(const PixelStep& step, std::vector<std::uint8_t>& rgb, Size size);

// One colour as Pillow's Convert.c computes it, in floats and doubles.
struct SlowColour {
  std::uint8_t part[3];
};
SlowColour hsv_slowly(const SlowColour& rgb);
SlowColour rgb_slowly(const SlowColour& hsv);

}  // namespace tundish
