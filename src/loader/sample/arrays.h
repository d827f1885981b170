// Samples without an image: arrays of one shape, copied into the batch unchanged.
#pragma once

#include "loader/sample/sample.h"

namespace tundish {

// Like read_and_plan(), for a recipe whose views are arrays. The result has no plans. Throws
// SampleError.
Planned read_arrays(const Recipe& recipe, const Draw& draw, Scratch& scratch);

// Like write_rows(), for a recipe whose views are arrays: copies each array to its row.
void copy_arrays(std::span<const Placement> rows, const Recipe& recipe, const Draw& draw,
                 Scratch& scratch);

}  // namespace tundish
