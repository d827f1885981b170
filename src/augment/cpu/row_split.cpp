#include "augment/cpu/row_split.h"

namespace tundish {

void mirror_row(std::uint8_t* to, const std::uint8_t* rgb, int width) {
  for (int x = 0; x < width; ++x, rgb += 3) {
    std::uint8_t* pixel = to + 3 * (width - 1 - x);
    pixel[0] = rgb[0];
    pixel[1] = rgb[1];
    pixel[2] = rgb[2];
  }
}

void split_row(std::uint8_t* red, std::uint8_t* green, std::uint8_t* blue, const std::uint8_t* rgb,
               int width) {
  for (int x = 0; x < width; ++x, rgb += 3) {
    red[x] = rgb[0];
    green[x] = rgb[1];
    blue[x] = rgb[2];
  }
}

}  // namespace tundish
