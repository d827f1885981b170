#include "augment/operations/random_vertical_flip.h"

namespace tundish {

void RandomVerticalFlip::plan(View& view, Random& random) const {
  if (random.uniform() < p) view.mirror_y();
}

}  // namespace tundish
