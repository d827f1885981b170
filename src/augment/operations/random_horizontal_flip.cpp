#include "augment/operations/random_horizontal_flip.h"

namespace tundish {

void RandomHorizontalFlip::plan(View& view, Random& random) const {
  if (random.uniform() < p) view.mirror_x();
}

}  // namespace tundish
