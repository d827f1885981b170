// Overwrites the elements of a stored row that lie in an Erasure.
#pragma once

#include <span>

#include "augment/cpu/placement.h"
#include "augment/dtype.h"
#include "augment/erasure.h"

namespace tundish {

// Applies `erasures` in order: a later one covers an earlier one. `width` is the row's, in pixels.
void erase_row(std::span<const Erasure> erasures, const Placement& place, Dtype dtype, int y,
               int width);

}  // namespace tundish
