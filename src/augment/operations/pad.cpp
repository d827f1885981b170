#include "augment/operations/pad.h"

#include <fmt/format.h>

#include <algorithm>

namespace tundish {

void Pad::plan(View& view, Random&) const {
  const Size size = result_size(view.size());
  view.crop({-padding.left, -padding.top, size.width, size.height}, padding_mode, fill);
}

Size Pad::result_size(Size before) const {
  if (before == Size{}) return {};
  // Each argument is limited, but a list may contain any number of Pads.
  const int width = before.width + padding.left + padding.right;
  const int height = before.height + padding.top + padding.bottom;
  if (std::max(width, height) > kMaxPlannedSide) {
    refuse_argument(kName, fmt::format("the padded image would have {}x{} pixels", width, height));
  }
  return {width, height};
}

}  // namespace tundish
