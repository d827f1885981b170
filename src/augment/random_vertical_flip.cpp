#include "augment/random_vertical_flip.h"

namespace tundish {

void random_vertical_flip(View& view, const RandomVerticalFlip& op, Random& random) {
  if (random.uniform() < op.p) view.mirror_y();
}

}  // namespace tundish
