#include "augment/operations/center_crop.h"

#include <cmath>

namespace tundish {
namespace {

// Where the crop starts along one axis: Python's int(round((now - wanted) / 2)), ties to even;
// negative where padding is needed, and then less of it on the left.
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
