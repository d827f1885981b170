#include "augment/pixels/blur/gaussian_simd.h"

namespace tundish {

const GaussianRows kGaussianRowsBaseline = kGaussianLanes<16>;

}  // namespace tundish
