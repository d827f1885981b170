#include "augment/operations/draw_dirichlet.h"

#include <algorithm>
#include <cmath>

#include "augment/operations/draw_normal.h"

namespace tundish {
namespace {

// Draws the logarithm of a gamma variate by Marsaglia and Tsang's method. For a small alpha the
// variate itself may be too small for a double.
double draw_log_gamma(Random& random, double alpha) {
  const double d = (alpha < 1.0 ? alpha + 1.0 : alpha) - 1.0 / 3.0;
  const double c = 1.0 / std::sqrt(9.0 * d);
  for (;;) {
    const double normal = draw_normal(random);
    const double u = 1.0 - random.uniform();
    const double root = 1.0 + c * normal;
    if (root <= 0.0) continue;
    const double v = root * root * root;
    if (std::log(u) >= 0.5 * normal * normal + d - d * v + d * std::log(v)) continue;
    const double boost = alpha < 1.0 ? std::log(1.0 - random.uniform()) / alpha : 0.0;
    return std::log(d * v) + boost;
  }
}

}  // namespace

std::vector<double> draw_dirichlet(Random& random, int count, double alpha) {
  std::vector<double> out;
  for (int i = 0; i < count; ++i) out.push_back(draw_log_gamma(random, alpha));
  const double most = *std::max_element(out.begin(), out.end());
  double sum = 0.0;
  for (double& one : out) sum += one = std::exp(one - most);
  for (double& one : out) one /= sum;
  return out;
}

}  // namespace tundish
