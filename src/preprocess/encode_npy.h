// Pixels as the .npy file that numpy.save writes.
#pragma once

#include <cstddef>
#include <vector>

#include "core/bytes.h"
#include "core/image.h"
#include "preprocess/resizer.h"

namespace tundish {

// uint8, (H, W, 3); the first channel alone, (H, W), with `grey`. Replaces `out`.
void encode_npy(std::vector<std::byte>& out, const Pixels& pixels, bool grey);

// The same of elements as they lie in the file: (H, W) of one channel, (H, W, 3) of three.
void encode_npy(std::vector<std::byte>& out, Size size, int channels, Bytes elements);

}  // namespace tundish
