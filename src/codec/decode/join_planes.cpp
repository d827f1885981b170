#include "codec/decode/join_planes.h"

namespace tundish {

void join_planes(std::uint8_t* rgb, const std::uint8_t* red, const std::uint8_t* green,
                 const std::uint8_t* blue, int width, Cpu cpu) {
  for (int x = cpu >= Cpu::sse ? join_planes_sse(rgb, red, green, blue, width) : 0; x < width;
       ++x) {
    rgb[3 * x] = red[x];
    rgb[3 * x + 1] = green[x];
    rgb[3 * x + 2] = blue[x];
  }
}

}  // namespace tundish
