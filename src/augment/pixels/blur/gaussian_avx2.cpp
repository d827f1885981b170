#include "augment/pixels/blur/gaussian_lanewise.h"

namespace tundish {

const GaussianRows kGaussianRowsAvx2 = kGaussianLanes<32>;

}  // namespace tundish
