// The weights of torchvision's Gaussian kernel along one axis.
#pragma once

#include <vector>

namespace tundish {

// Of the middle, then of each distance, as float32. Weights below 2^-24 at the end are left out:
// they would change a level by less than float32's rounding does. At least one.
std::vector<float> gaussian_taps(int kernel_size, double sigma);

}  // namespace tundish
