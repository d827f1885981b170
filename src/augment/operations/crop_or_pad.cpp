#include "augment/operations/crop_or_pad.h"

#include <cmath>
#include <cstdlib>

namespace tundish {
namespace {

// Start of the window along one axis: Python's int(round((now - wanted) / 2)), ties to even.
// Negative if padding is needed; the left side then gets the smaller part of an odd padding.
int middle(int now, int wanted) {
  if (wanted > now) return -((wanted - now) / 2);
  return static_cast<int>(std::nearbyint((now - wanted) / 2.0));
}

int anywhere(int now, int wanted, Random& random) {
  const auto room = static_cast<std::uint64_t>(std::abs(now - wanted));
  const int drawn = static_cast<int>(random.below(room + 1));
  return wanted > now ? -drawn : drawn;
}

}  // namespace

void CenterCropOrPad::plan(View& view, Random&) const {
  const Size now = view.size();
  view.crop(
      {middle(now.width, size.width), middle(now.height, size.height), size.width, size.height},
      padding_mode, fill);
}

void RandomCropOrPad::plan(View& view, Random& random) const {
  const Size now = view.size();
  const int y = anywhere(now.height, size.height, random);
  const int x = anywhere(now.width, size.width, random);
  view.crop({x, y, size.width, size.height}, padding_mode, fill);
}

}  // namespace tundish
