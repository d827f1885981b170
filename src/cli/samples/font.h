// Printable ASCII as pixels, for text in pictures.
#pragma once

#include <cstdint>

namespace tundish::cli {

constexpr int kGlyphWidth = 5;
constexpr int kGlyphHeight = 8;

// Whether the letter covers this pixel. Unknown letters are drawn as '?'.
bool glyph_pixel(char letter, int x, int y);

}  // namespace tundish::cli
