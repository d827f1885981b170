// Where the pixels of an image are in a batch.
#pragma once

#include <cstddef>

#include "augment/cpu/store.h"

namespace tundish {

std::size_t image_bytes(Size size, Dtype dtype, int channels = 3);

// Of an image that begins at `base`: planes one after the other, or the channels of a pixel.
Placement placement(std::byte* base, Size size, Dtype dtype, bool channels_first, int channels = 3);

}  // namespace tundish
