#include "augment/operations/pad_to.h"

#include "base/error.h"

namespace tundish {

void PadTo::plan(View& view, Random&) const {
  const Size now = view.size();
  if (now.width > size.width || now.height > size.height) {
    throw Error(
        ErrorCode::argument, {},
        fmt::format("PadTo: an image of {}x{} (width x height) is larger than the {}x{} that it is "
                    "to be padded to; use a larger size (pad_to), or a Resize with max_size before "
                    "it",
                    now.width, now.height, size.width, size.height));
  }
  view.pad_to(size, fill);
}

}  // namespace tundish
