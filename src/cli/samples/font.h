// Printable ASCII as pixels, for words in pictures.
#pragma once

#include <cstdint>

namespace tundish::cli {

constexpr int kGlyphWidth = 5;
constexpr int kGlyphHeight = 8;

// Whether the letter covers this pixel; letters that are not known look like '?'.
bool glyph_pixel(char letter, int x, int y);

}  // namespace tundish::cli
