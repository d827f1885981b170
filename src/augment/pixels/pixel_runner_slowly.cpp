#include "augment/pixels/colours_slowly.h"
#include "augment/pixels/level_ops.h"
#include "augment/pixels/pixel_runner.h"

namespace tundish {

void run_slowly(const PixelStep& step, std::vector<std::uint8_t>& rgb, Size& size) {
  switch (kind_of(step.op)) {
    case PixelKind::levels:
      for (std::uint8_t& level : rgb) level = level_after(step, level);
      break;
    case PixelKind::places:
      return warp_slowly(step, rgb, size);
    case PixelKind::colours:
    case PixelKind::statistics:
      return change_colours_slowly(step, rgb, size);
    default:
      if (step.op == PixelOp::sharpness) return change_colours_slowly(step, rgb, size);
      break;
  }
}

}  // namespace tundish
