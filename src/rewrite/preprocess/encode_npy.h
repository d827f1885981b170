// Encodes pixels as a .npy file, as numpy.save does.
#pragma once

#include <cstddef>
#include <vector>

#include "base/bytes.h"
#include "base/image.h"
#include "rewrite/preprocess/resizer.h"

namespace tundish {

// uint8, (H, W, 3); with `gray`, only the first channel, (H, W). Replaces `out`.
void encode_npy(std::vector<std::byte>& out, const RgbImage& pixels, bool gray);

// The same for elements in file order: (H, W) for one channel, (H, W, 3) for three.
void encode_npy(std::vector<std::byte>& out, Size size, int channels, Bytes elements);

}  // namespace tundish
