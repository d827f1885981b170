// Finds the blocks and units of an image that a window of its pixels needs.
#pragma once

#include "base/image.h"
#include "codec/lanes/geometry.h"

namespace tundish::lanes {

// The upsampling method for chroma: libjpeg's choice for a sampling and a width.
enum class Upsampling : std::uint8_t {
  none,
  smooth_wide,  // 2 x 1: three parts of the nearer sample and one part of the farther
  smooth_both,  // 2 x 2
  smooth_high,  // 1 x 2
  repeat,       // each sample `h` times across: 4:1:1, and chroma of one or two columns
};

Upsampling upsampling_of(const Geometry& geometry);

struct CropPlan {
  Window window;                                           // the requested window
  BlockRect blocks[kMaxComponents] = {};                   // per component; never empty
  int unit_x0 = 0, unit_y0 = 0, unit_x1 = 0, unit_y1 = 0;  // the units that hold the blocks
};

// The window must be inside the image and contain at least one pixel.
CropPlan plan_crop(const Geometry& geometry, const Window& window);

}  // namespace tundish::lanes
