// Expands a stored row of a PNG to the form that libpng delivers with the settings of png.cpp.
#pragma once

#include "codec/decode/png_kind.h"

namespace tundish {

// Palette indices become bytes, 16-bit grays are unchanged, all else becomes RGB, or RGBA if alpha
// is kept (the high byte of 16 bits). Returns `row` itself if no change is needed, otherwise `to`,
// which has room for 4 bytes per pixel.
const std::uint8_t* expand_png_row(std::uint8_t* to, const std::uint8_t* row, const PngKind& kind,
                                   std::uint32_t width);

}  // namespace tundish
