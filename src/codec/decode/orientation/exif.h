// The orientation of an image in its EXIF and XMP data.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"

namespace tundish {

// `tiff` is what follows "Exif\0\0" in a JPEG, or the whole eXIf chunk of a PNG. Gives 1 to 8; 1
// when the tag makes no sense; nothing when there is no such tag.
std::optional<std::uint8_t> exif_orientation(Bytes tiff);

// The same of an XMP packet. Pillow looks there if the EXIF data have no orientation.
std::optional<std::uint8_t> xmp_orientation(Bytes packet);

}  // namespace tundish
