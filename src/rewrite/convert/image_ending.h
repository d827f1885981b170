// Detects the ending and format name of an image file from its bytes.
#pragma once

#include "base/bytes.h"

namespace tundish {

// Returns ".jpg", ".png", ...; "" if the bytes have no image format that this library decodes.
const char* image_ending(Bytes image);

// Returns "jpeg", "png", ..., as named in TensorFlow's datasets; "" as for image_ending().
const char* image_format_name(Bytes image);

}  // namespace tundish
