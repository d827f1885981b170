#include "augment/pixels/gaussian_lanewise.h"

namespace tundish {

const GaussianRows kGaussianRowsPlain = {GaussianLanes<16>::across, GaussianLanes<16>::down};

}  // namespace tundish
