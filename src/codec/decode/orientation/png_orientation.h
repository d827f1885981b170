// Orientation of a PNG, from its EXIF and XMP data.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace tundish {

// Searches the same places as Pillow: eXIf chunks, ImageMagick's profile, and XMP in text chunks,
// before and after the pixels. `file` starts with the PNG signature. Returns 1 to 8.
std::uint8_t png_orientation(Bytes file);

}  // namespace tundish
