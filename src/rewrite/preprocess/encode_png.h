// Encodes pixels as a PNG, with libpng.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rewrite/preprocess/resizer.h"

namespace tundish {

// Rows in PNG layout, except for byte order: 16-bit levels are little-endian.
struct PngRows {
  const std::uint8_t* first = nullptr;
  Size size = {};
  int channels = 3;   // 1, 3 or 4
  bool deep = false;  // 16-bit levels
};

// Replaces `out`. Throws std::bad_alloc.
void encode_png(std::vector<std::byte>& out, const PngRows& rows);

// 8-bit RGB; with `gray`, only the first channel. Replaces `out`. Throws std::bad_alloc.
void encode_png(std::vector<std::byte>& out, const RgbImage& pixels, bool gray);

}  // namespace tundish
