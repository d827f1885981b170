#include "augment/pixels/warp/warp.h"
#include "augment/pixels/warp/warp_ops.h"

namespace tundish {

void warp_reference(const PixelStep& step, std::vector<std::uint8_t>& rgb, Size& size) {
  const std::vector<std::uint8_t> before = rgb;
  const Pixels image{before.data(), size.width, size.height};
  if (step.size != Size{}) size = step.size;
  rgb.resize(std::size_t{3} * static_cast<std::size_t>(size.width) *
             static_cast<std::size_t>(size.height));
  std::uint8_t* to = rgb.data();
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x, to += 3) warped_pixel(to, step, image, size, x, y);
  }
}

}  // namespace tundish
