// Memory layout of an image in a batch: bytes per image and strides.
#pragma once

#include <cstddef>

#include "augment/cpu/store.h"

namespace tundish {

std::size_t image_bytes(Size size, Dtype dtype, int channels = 3);

// Returns the layout of an image at `base`: consecutive planes, or interleaved channels.
Placement placement(std::byte* base, Size size, Dtype dtype, bool channels_first, int channels = 3);

}  // namespace tundish
