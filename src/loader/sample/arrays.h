// Samples without an image: arrays of one shape, copied into the batch unchanged.
#pragma once

#include "loader/sample/sample.h"

namespace tundish {

// Like load_sample(), for a recipe whose views are arrays. Throws SampleError.
void load_arrays(const Placer& placer, const Recipe& recipe, const Draw& draw, Scratch& scratch);

}  // namespace tundish
