#include "augment/operations/photometric/random_photometric_distort.h"

#include <optional>

namespace tundish {

void RandomPhotometricDistort::check() const {
  const auto check_order = [](const char* name, const std::array<double, 2>& range) {
    if (range[0] <= range[1]) return;
    refuse_argument(kName, fmt::format("{} must be two numbers in order, not ({}, {})", name,
                                       range[0], range[1]));
  };
  check_order("brightness", brightness);
  check_order("contrast", contrast);
  check_order("saturation", saturation);
  check_order("hue", hue);
}

void RandomPhotometricDistort::plan(View& view, Random& random) const {
  const auto draw = [this, &random](const std::array<double, 2>& range) -> std::optional<double> {
    if (random.uniform() >= p) return {};
    return draw_factor(random, range[0], range[1]);
  };
  const auto add = [&view](PixelOp op, const std::optional<double>& factor) {
    if (factor) view.add({.op = op, .value = {*factor}});
  };
  const auto bright = draw(brightness), contrasted = draw(contrast), saturated = draw(saturation);
  const auto shifted = draw(hue);
  const bool contrast_before = random.uniform() < 0.5;
  add(PixelOp::brightness, bright);
  if (contrast_before) add(PixelOp::contrast, contrasted);
  add(PixelOp::saturation, saturated);
  if (shifted) view.add(hue_step(*shifted));
  if (!contrast_before) add(PixelOp::contrast, contrasted);
  if (random.uniform() < p) view.add(draw_channel_order(random));
}

}  // namespace tundish
