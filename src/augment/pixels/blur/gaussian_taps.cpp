#include "augment/pixels/blur/gaussian_taps.h"

#include "augment/pixels/blur/blur_ops.h"

namespace tundish {

std::vector<float> gaussian_taps(int kernel_size, double ratio) {
  std::vector<float> weights(static_cast<std::size_t>(kernel_size / 2) + 1);
  weights.resize(static_cast<std::size_t>(gaussian_weights(weights.data(), kernel_size, ratio)));
  return weights;
}

}  // namespace tundish
