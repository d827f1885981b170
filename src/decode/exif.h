// The orientation tag of EXIF data.
#pragma once

#include <cstdint>

#include "core/bytes.h"

namespace tundish {

// `tiff` is what follows "Exif\0\0" in a JPEG, or the whole eXIf chunk of a PNG. Gives 1 to 8;
// 1 when there is no orientation or the data make no sense.
std::uint8_t exif_orientation(Bytes tiff);

}  // namespace tundish
