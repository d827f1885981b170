#include "augment/pixels/blur/gaussian_lanewise.h"

namespace tundish {

const GaussianRows kGaussianRowsPlain = kGaussianLanes<16>;

}  // namespace tundish
