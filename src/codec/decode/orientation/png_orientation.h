// The orientation of a PNG, from its EXIF and XMP data.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace tundish {

// Looks where Pillow looks: at eXIf chunks, at the profile that ImageMagick writes, and at XMP in
// texts; before the pixels and after them. `file` begins with the signature of a PNG. Gives 1 to 8.
std::uint8_t png_orientation(Bytes file);

}  // namespace tundish
