// Overwrites the elements of a stored row that lie in an Erasure.
#pragma once

#include <span>

#include "augment/cpu/placement.h"
#include "augment/dtype.h"
#include "augment/erasure.h"

namespace tundish {

// In the order of `erasures`: a later one covers an earlier one. `width`: of the row, in pixels.
void erase_row(std::span<const Erasure> erasures, const Placement& place, Dtype dtype, int y,
               int width);

}  // namespace tundish
