#include "augment/pixels/gaussian_lanewise.h"

namespace tundish {

const GaussianRows kGaussianRowsAvx2 = {GaussianLanes<32>::across, GaussianLanes<32>::down};

}  // namespace tundish
