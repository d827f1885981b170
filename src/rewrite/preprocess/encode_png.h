// Pixels as a PNG, by libpng.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rewrite/preprocess/resizer.h"

namespace tundish {

// Rows as a PNG has them, but for the order of bytes: 16-bit levels are little-endian.
struct PngRows {
  const std::uint8_t* first = nullptr;
  Size size = {};
  int channels = 3;   // 1, 3 or 4
  bool deep = false;  // 16-bit levels
};

// Replaces `out`. Throws std::bad_alloc.
void encode_png(std::vector<std::byte>& out, const PngRows& rows);

// 8-bit RGB; the first channel alone with `gray`. Replaces `out`. Throws std::bad_alloc.
void encode_png(std::vector<std::byte>& out, const Pixels& pixels, bool gray);

}  // namespace tundish
