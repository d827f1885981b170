#include "augment/operations/trim_border.h"

#include <fmt/format.h>

namespace tundish {

void TrimBorder::plan(View& view, Random&) const {
  const Size now = view.size();
  const Size left = {now.width - 2 * border_size, now.height - 2 * border_size};
  if (left.width < 1 || left.height < 1) {
    throw Error(
        ErrorCode::argument, {},
        fmt::format("TrimBorder: nothing is left of an image of {}x{} pixels without a border "
                    "of {}",
                    now.width, now.height, border_size));
  }
  view.crop({border_size, border_size, left.width, left.height});
}

Size TrimBorder::result_size(Size before) const {
  const Size left = {before.width - 2 * border_size, before.height - 2 * border_size};
  return left.width < 1 || left.height < 1 ? Size{} : left;
}

}  // namespace tundish
