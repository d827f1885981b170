// Strides of the elements of one image in a batch.
#pragma once

#include <cstddef>

namespace tundish {

// The element (y, x, channel) of an image is at base + y*dy + x*dx + c*dc bytes.
struct Placement {
  std::byte* base = nullptr;
  std::ptrdiff_t dy = 0, dx = 0, dc = 0;
  // 1: stores the first of three equal channels; 2: low and high byte of 16-bit levels; 4: RGBA.
  int channels = 3;
};

}  // namespace tundish
