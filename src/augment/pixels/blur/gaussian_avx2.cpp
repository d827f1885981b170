#include "augment/pixels/blur/gaussian_simd.h"

namespace tundish {

const GaussianRows kGaussianRowsAvx2 = kGaussianLanes<32>;

}  // namespace tundish
