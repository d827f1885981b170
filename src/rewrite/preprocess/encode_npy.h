// Pixels as the .npy file that numpy.save writes.
#pragma once

#include <cstddef>
#include <vector>

#include "base/bytes.h"
#include "base/image.h"
#include "rewrite/preprocess/resizer.h"

namespace tundish {

// uint8, (H, W, 3); the first channel alone, (H, W), with `gray`. Replaces `out`.
void encode_npy(std::vector<std::byte>& out, const Pixels& pixels, bool gray);

// The same of elements as they lie in the file: (H, W) of one channel, (H, W, 3) of three.
void encode_npy(std::vector<std::byte>& out, Size size, int channels, Bytes elements);

}  // namespace tundish
