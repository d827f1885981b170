#include "augment/operations/center_crop.h"

#include <cmath>

namespace tundish {

int centered_start(int now, int wanted) {
  if (wanted > now) return -((wanted - now) / 2);
  return static_cast<int>(std::nearbyint((now - wanted) / 2.0));
}

void CenterCrop::plan(View& view, Random&) const {
  const Size now = view.size();
  view.crop({centered_start(now.width, size.width), centered_start(now.height, size.height),
             size.width, size.height});
}

}  // namespace tundish
