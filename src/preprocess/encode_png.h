// Pixels as a PNG, by libpng.
#pragma once

#include <cstddef>
#include <vector>

#include "preprocess/resizer.h"

namespace tundish {

// 8-bit RGB; the first channel alone with `grey`. Replaces `out`. Throws std::bad_alloc.
void encode_png(std::vector<std::byte>& out, const Pixels& pixels, bool grey);

}  // namespace tundish
