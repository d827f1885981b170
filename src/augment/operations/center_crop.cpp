#include "augment/operations/center_crop.h"

#include <cmath>

namespace tundish {
namespace {

// Start of the crop along one axis: Python's int(round((now - wanted) / 2)), ties to even.
// Negative if padding is needed; the left side then gets the smaller part of an odd padding.
int start(int now, int wanted) {
  if (wanted > now) return -((wanted - now) / 2);
  return static_cast<int>(std::nearbyint((now - wanted) / 2.0));
}

}  // namespace

void CenterCrop::plan(View& view, Random&) const {
  const Size now = view.size();
  view.crop(
      {start(now.width, size.width), start(now.height, size.height), size.width, size.height});
}

}  // namespace tundish
