#include "augment/pixels/blur/gaussian_taps.h"

#include <cmath>

namespace tundish {

std::vector<float> gaussian_taps(int kernel_size, double sigma) {
  std::vector<double> value;
  double sum = 0.0;
  for (int d = 0; d <= kernel_size / 2; ++d) {
    const double z = d / sigma;
    value.push_back(std::exp(-0.5 * z * z));
    sum += d == 0 ? value[0] : 2.0 * value.back();
  }
  while (value.size() > 1 && value.back() < sum * 0x1p-24) value.pop_back();
  std::vector<float> weights;
  for (const double one : value) weights.push_back(static_cast<float>(one / sum));
  return weights;
}

}  // namespace tundish
