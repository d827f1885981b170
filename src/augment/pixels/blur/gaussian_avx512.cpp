#include "augment/pixels/blur/gaussian_simd.h"

namespace tundish {

const GaussianRows kGaussianRowsAvx512 = kGaussianLanes<64>;

}  // namespace tundish
