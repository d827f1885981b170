// Random numbers that are 1 together.
#pragma once

#include <vector>

#include "base/random.h"

namespace tundish {

// `count` numbers of the symmetric Dirichlet distribution; alpha > 0. Two are a Beta distribution.
std::vector<double> draw_dirichlet(Random& random, int count, double alpha);

}  // namespace tundish
