#include "augment/pixels/blur/blur.h"
#include "augment/pixels/colours/colours_slowly.h"
#include "augment/pixels/levels/level_ops.h"
#include "augment/pixels/noise/noise.h"
#include "augment/pixels/pixel_runner.h"

namespace tundish {

void run_slowly(const PixelStep& step, std::vector<std::uint8_t>& rgb, Size& size) {
  switch (kind_of(step.op)) {
    case PixelKind::levels:
      for (std::uint8_t& level : rgb) level = level_after(step, level);
      break;
    case PixelKind::places:
      if (step.op == PixelOp::elastic) return tensors_slowly(step, rgb, size);
      return warp_slowly(step, rgb, size);
    case PixelKind::colours:
    case PixelKind::statistics:
      return change_colours_slowly(step, rgb, size);
    case PixelKind::neighbours:
      // The round trip is libjpeg's: Pillow's tests are its twin.
      if (step.op == PixelOp::jpeg) JpegRoundTrip().run(rgb, size, static_cast<int>(step.value[0]));
      if (step.op == PixelOp::sharpness) change_colours_slowly(step, rgb, size);
      return blur_slowly(step, rgb, size);
    case PixelKind::noise:
      return noise_slowly(step, rgb, size);
    case PixelKind::tensors:
      return tensors_slowly(step, rgb, size);
    case PixelKind::mix:
      return;
  }
}

}  // namespace tundish
