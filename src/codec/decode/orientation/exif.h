// The orientation of an image in its EXIF and XMP data.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"

namespace tundish {

// `tiff` is the part after "Exif\0\0" in a JPEG, or the whole eXIf chunk of a PNG. Returns 1 to 8;
// 1 if the tag's value is invalid; empty if there is no such tag.
std::optional<std::uint8_t> exif_orientation(Bytes tiff);

// Like exif_orientation(), for an XMP packet. Pillow uses XMP if EXIF has no orientation.
std::optional<std::uint8_t> xmp_orientation(Bytes packet);

}  // namespace tundish
