// The weights of torchvision's Gaussian kernel along one axis: gaussian_weights() of blur_ops.h.
#pragma once

#include <vector>

namespace tundish {

std::vector<float> gaussian_taps(int kernel_size, double ratio);

}  // namespace tundish
