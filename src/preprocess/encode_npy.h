// Pixels as the .npy file that numpy.save writes.
#pragma once

#include <cstddef>
#include <vector>

#include "preprocess/resizer.h"

namespace tundish {

// uint8, (H, W, 3); the first channel alone, (H, W), with `grey`. Replaces `out`.
void encode_npy(std::vector<std::byte>& out, const Pixels& pixels, bool grey);

}  // namespace tundish
