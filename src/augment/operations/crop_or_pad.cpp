#include "augment/operations/crop_or_pad.h"

#include <cstdlib>

#include "augment/operations/center_crop.h"

namespace tundish {
namespace {

int anywhere(int now, int wanted, Random& random) {
  const auto room = static_cast<std::uint64_t>(std::abs(now - wanted));
  const int drawn = static_cast<int>(random.below(room + 1));
  return wanted > now ? -drawn : drawn;
}

}  // namespace

void CenterCropOrPad::plan(View& view, Random&) const {
  const Size now = view.size();
  view.crop({centered_start(now.width, size.width), centered_start(now.height, size.height),
             size.width, size.height},
            padding_mode, fill);
}

void RandomCropOrPad::plan(View& view, Random& random) const {
  const Size now = view.size();
  const int y = anywhere(now.height, size.height, random);
  const int x = anywhere(now.width, size.width, random);
  view.crop({x, y, size.width, size.height}, padding_mode, fill);
}

}  // namespace tundish
