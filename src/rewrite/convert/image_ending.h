// How the name of an image file ends, by its bytes.
#pragma once

#include "base/bytes.h"

namespace tundish {

// ".jpg", ".png", ...; "" when the bytes are of no image format that is decoded here.
const char* image_ending(Bytes image);

// "jpeg", "png", ...: as TensorFlow's data sets call it; "" as above.
const char* image_format_name(Bytes image);

}  // namespace tundish
