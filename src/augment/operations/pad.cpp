#include "augment/operations/pad.h"

namespace tundish {

void Pad::plan(View& view, Random&) const {
  const Size size = result_size(view.size());
  view.crop({-padding.left, -padding.top, size.width, size.height}, padding_mode, fill);
}

Size Pad::result_size(Size before) const {
  if (before == Size{}) return {};
  return {before.width + padding.left + padding.right,
          before.height + padding.top + padding.bottom};
}

}  // namespace tundish
