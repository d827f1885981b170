#include "augment/operations/warps/random_affine.h"

#include <cmath>

namespace tundish {

void RandomAffine::check() const {
  check_angles(kName, "degrees", degrees);
  if (shear) {
    check_angles(kName, "shear", shear->x);
    check_angles(kName, "shear", shear->y);
  }
  if (scale && (*scale)[0] > (*scale)[1]) {
    refuse_argument(kName, fmt::format("scale: the lowest factor ({}) is above the highest ({})",
                                       (*scale)[0], (*scale)[1]));
  }
}

AffineNumbers RandomAffine::drawn(Size image, Random& random) const {
  AffineNumbers out{.angle = draw_float(random, degrees.low, degrees.high), .center = center};
  if (translate) {
    const double sides[] = {double(image.width), double(image.height)};
    for (std::size_t i = 0; i < 2; ++i) {
      const double most = (*translate)[i] * sides[i];
      out.translate[i] = std::nearbyint(draw_float(random, -most, most));  // ties to even
    }
  }
  if (scale) out.scale = draw_float(random, (*scale)[0], (*scale)[1]);
  if (shear) {
    out.shear[0] = draw_float(random, shear->x.low, shear->x.high);
    out.shear[1] = draw_float(random, shear->y.low, shear->y.high);
  }
  return out;
}

}  // namespace tundish
