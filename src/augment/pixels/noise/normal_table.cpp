#include <array>
#include <cmath>

#include "augment/pixels/noise/normal_ops.h"

namespace tundish {
namespace {

// Returns the quantile of the normal distribution, by Newton's method starting at `near`.
double quantile(double probability, double near) {
  constexpr double kRoot2 = 1.4142135623730951, kDensity0 = 0.3989422804014327;
  double x = near;
  for (int i = 0; i < 8; ++i) {
    const double below = 0.5 * std::erfc(-x / kRoot2);
    x -= (below - probability) / (kDensity0 * std::exp(-0.5 * x * x));
  }
  return x;
}

using Table = std::array<float, kNormalParts + 1>;

// The two halves mirror each other. Entries are multiples of 2^-20, which hides differences between
// math libraries. The outermost quantiles are infinite; 4.2 instead gives the outermost parts their
// correct mean.
Table make_table() {
  Table table{};
  double x = 0.0;
  for (std::size_t i = kNormalParts / 2 + 1; i <= kNormalParts; ++i) {
    x = i < kNormalParts ? quantile(static_cast<double>(i) / kNormalParts, x) : 4.2;
    table[i] = static_cast<float>(std::nearbyint(x * 0x1p20) * 0x1p-20);
    table[kNormalParts - i] = -table[i];
  }
  return table;
}

}  // namespace

const float* normal_table() {
  static const Table table = make_table();
  return table.data();
}

}  // namespace tundish
