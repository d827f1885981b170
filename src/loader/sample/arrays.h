// Samples without an image: arrays of one shape, which are copied into the batch as they are.
#pragma once

#include "loader/sample/sample.h"

namespace tundish {

// As load_sample(), for a recipe whose views are arrays. Throws SampleError.
void load_arrays(const Placer& placer, const Recipe& recipe, const Draw& draw, Scratch& scratch);

}  // namespace tundish
