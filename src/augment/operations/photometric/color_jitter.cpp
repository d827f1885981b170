#include "augment/operations/photometric/color_jitter.h"

namespace tundish {

void ColorJitter::plan(View& view, Random& random) const {
  const std::array<int, 4> order = draw_order<4>(random);
  const auto draw = [&random](const auto& spread) {
    return spread.changes() ? draw_factor(random, spread.low, spread.high) : 1.0;
  };
  const double bright = draw(brightness), contrasted = draw(contrast), saturated = draw(saturation);
  const double shifted = draw(hue);
  for (const int which : order) {
    if (which == 0 && brightness.changes()) {
      view.add({.op = PixelOp::brightness, .value = {bright}});
    } else if (which == 1 && contrast.changes()) {
      view.add({.op = PixelOp::contrast, .value = {contrasted}});
    } else if (which == 2 && saturation.changes()) {
      view.add({.op = PixelOp::saturation, .value = {saturated}});
    } else if (which == 3 && hue.changes()) {
      view.add(hue_step(shifted));
    }
  }
}

}  // namespace tundish
