// Where the elements of one image are.
#pragma once

#include <cstddef>

namespace tundish {

// Where the element (y, x, channel) of one image is: base + y*dy + x*dx + c*dc bytes.
struct Placement {
  std::byte* base = nullptr;
  std::ptrdiff_t dy = 0, dx = 0, dc = 0;
  // 1: the first one of equal ones; 2: of 16-bit levels, low and high byte; 4: RGBA.
  int channels = 3;
};

}  // namespace tundish
