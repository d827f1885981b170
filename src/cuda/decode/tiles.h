// How an image's output is cut into tiles whose part of the crop fits into the shared memory of a
// thread block.
#pragma once

#include <vector>

#include "cuda/decode/batch_layout.h"

namespace tundish::cuda {

// Appends the image's tiles. False when not even one column of one output fits: the crop is made
// smaller by a factor of hundreds.
bool add_tiles(std::vector<Item>& items, const ImageTask& task, std::uint32_t image);

}  // namespace tundish::cuda
