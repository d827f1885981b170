#include "augment/pixels/gaussian_lanewise.h"

namespace tundish {

const GaussianRows kGaussianRowsAvx512 = {GaussianLanes<64>::across, GaussianLanes<64>::down};

}  // namespace tundish
