// A stored row of a PNG as libpng would hand it over with the settings of png.cpp.
#pragma once

#include "codec/decode/png_kind.h"

namespace tundish {

// Numbers of a palette in bytes; 16-bit grays as they are; everything else as RGB, or as RGBA where
// alpha is kept, the high byte of 16 bits. Gives `row` itself where nothing is to be done,
// otherwise `to`, which has room for 4 bytes per pixel.
const std::uint8_t* expand_png_row(std::uint8_t* to, const std::uint8_t* row, const PngKind& kind,
                                   std::uint32_t width);

}  // namespace tundish
