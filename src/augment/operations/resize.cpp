#include "augment/operations/resize.h"

#include <algorithm>

#include "base/error.h"

namespace tundish {
namespace {

// Python's int(a * b / c), but at least one pixel. A double is exact enough for any image.
int scaled(int a, int b, int c) {
  const double length = static_cast<double>(a) * b / c;
  if (length > kMaxPlannedSide) {
    throw Error(ErrorCode::argument, {},
                "Resize: the longer side would be " + std::to_string(length) + " pixels");
  }
  return std::max(static_cast<int>(length), 1);
}

}  // namespace

void Resize::check() const {
  if (!max_size) return;
  if (size.height != 0) {
    refuse_argument(kName, "max_size needs a size of one number, the shorter side");
  }
  if (*max_size <= size.width) {
    refuse_argument(kName, fmt::format("max_size must be larger than size ({}), not {}", size.width,
                                       *max_size));
  }
}

Size Resize::target(Size now) const {
  if (size.height != 0) return size;
  int shorter = size.width;
  int longer = scaled(shorter, std::max(now.width, now.height), std::min(now.width, now.height));
  if (max_size && longer > *max_size) {
    shorter = scaled(*max_size, shorter, longer);
    longer = *max_size;
  }
  return now.width <= now.height ? Size{shorter, longer} : Size{longer, shorter};
}

void Resize::plan(View& view, Random&) const {
  const Size size = target(view.size());
  if (draft) view.draft(size);
  view.resize(size, interpolation);
}

Size Resize::result_size(Size before) const {
  if (size.height != 0) return size;
  if (before == Size{}) return {};
  View view(before);
  Random unused({}, 0);
  plan(view, unused);
  return view.size();
}

}  // namespace tundish
