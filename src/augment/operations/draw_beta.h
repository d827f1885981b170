// Gamma and beta random numbers of a transform's stream.
#pragma once

#include <cmath>

#include "augment/operations/draw_normal.h"
#include "core/random.h"

namespace tundish {

// The logarithm of a gamma number of this shape, by Marsaglia and Tsang's method: the number itself
// may be smaller than any double.
inline double draw_log_gamma(double shape, Random& random) {
  if (shape < 1.0) {
    const double larger = draw_log_gamma(shape + 1.0, random);
    return larger + std::log(1.0 - random.uniform()) / shape;
  }
  const double d = shape - 1.0 / 3.0, c = 1.0 / std::sqrt(9.0 * d);
  while (true) {
    const double x = draw_normal(random), v = 1.0 + c * x;
    if (v <= 0.0) continue;
    const double cube = v * v * v;
    if (std::log(1.0 - random.uniform()) < 0.5 * x * x + d - d * cube + d * std::log(cube)) {
      return std::log(d * cube);
    }
  }
}

inline double draw_beta(double a, double b, Random& random) {
  const double first = draw_log_gamma(a, random), second = draw_log_gamma(b, random);
  return 1.0 / (1.0 + std::exp(second - first));
}

}  // namespace tundish
