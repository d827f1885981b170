#include "augment/resize.h"

#include <algorithm>

#include "core/error.h"

namespace tundish {
namespace {

// Python's int(a * b / c), which is exact enough in double for any image; at least one pixel.
int scaled(int a, int b, int c) {
  const double length = static_cast<double>(a) * b / c;
  if (length > kMaxResizedSide) {
    throw Error(ErrorCode::argument, {},
                "Resize: the longer side would be " + std::to_string(length) + " pixels");
  }
  return std::max(static_cast<int>(length), 1);
}

}  // namespace

void resize(View& view, const Resize& op) {
  if (op.size.height != 0) return view.resize(op.size, op.filter);
  const Size now = view.size();
  int shorter = op.size.width;
  int longer = scaled(shorter, std::max(now.width, now.height), std::min(now.width, now.height));
  if (op.max_size != 0 && longer > op.max_size) {
    shorter = scaled(op.max_size, shorter, longer);
    longer = op.max_size;
  }
  view.resize(now.width <= now.height ? Size{shorter, longer} : Size{longer, shorter}, op.filter);
}

}  // namespace tundish
