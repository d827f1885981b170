// Cuts an image's output into tiles whose part of the crop fits into the shared memory of a
// thread block.
#pragma once

#include <vector>

#include "cuda/decode/batch_layout.h"

namespace tundish::cuda {

// Appends the image's tiles. Returns false if not even one output column fits: the crop is shrunk
// by a factor of hundreds.
bool add_tiles(std::vector<Item>& items, const ImageTask& task, std::uint32_t image);

}  // namespace tundish::cuda
