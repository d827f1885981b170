#include "augment/operations/random_crop.h"

#include <string>

#include "base/error.h"

namespace tundish {
namespace {

std::string text(int width, int height) {
  return std::to_string(width) + "x" + std::to_string(height);
}

}  // namespace

void RandomCrop::plan(View& view, Random& random) const {
  auto [left, top, right, bottom] = padding;
  int width = view.size().width + left + right;
  int height = view.size().height + top + bottom;
  if (pad_if_needed) {
    // Like torchvision, pads each side by the full missing amount.
    if (const int missing = size.height - height; missing > 0) {
      top += missing;
      height += 2 * missing;
    }
    if (const int missing = size.width - width; missing > 0) {
      left += missing;
      width += 2 * missing;
    }
  }
  if (width < size.width || height < size.height) {
    throw Error(ErrorCode::argument, {},
                "RandomCrop: the crop of " + text(size.width, size.height) +
                    " (width x height) is larger than the padded image of " + text(width, height) +
                    "; use pad_if_needed=True or a Resize before it");
  }
  const auto draw = [&](int room) {
    return room == 0 ? 0 : static_cast<int>(random.below(static_cast<std::uint64_t>(room) + 1));
  };
  const int y = draw(height - size.height);
  const int x = draw(width - size.width);
  view.crop({x - left, y - top, size.width, size.height}, padding_mode, fill);
}

}  // namespace tundish
