// Random numbers that add up to 1.
#pragma once

#include <vector>

#include "base/random.h"

namespace tundish {

// Draws from the symmetric Dirichlet distribution; alpha > 0. Two numbers are Beta distributed.
std::vector<double> draw_dirichlet(Random& random, int count, double alpha);

}  // namespace tundish
