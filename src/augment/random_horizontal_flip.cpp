#include "augment/random_horizontal_flip.h"

namespace tundish {

void random_horizontal_flip(View& view, const RandomHorizontalFlip& op, Random& random) {
  if (random.uniform() < op.p) view.mirror_x();
}

}  // namespace tundish
