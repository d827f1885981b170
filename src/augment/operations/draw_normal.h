// Draws a normal random number from a transform's stream.
#pragma once

#include <cmath>
#include <numbers>

#include "base/random.h"

namespace tundish {

// Returns a number of mean 0 and standard deviation 1, by Box and Muller's method.
inline double draw_normal(Random& random) {
  const double angle = 2.0 * std::numbers::pi * random.uniform();
  return std::sqrt(-2.0 * std::log(1.0 - random.uniform())) * std::cos(angle);
}

}  // namespace tundish
