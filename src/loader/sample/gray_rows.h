// Converts decoded rows to gray: each pixel gets the level of Pillow's convert("L") in all
// three channels. A gray image is unchanged.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "augment/pixels/colors/colors.h"
#include "base/image.h"
#include "codec/decode/decode.h"

namespace tundish {

class GrayRows : public StripSink {
 public:
  // `rows` holds a few rows.
  GrayRows(StripSink& to, std::vector<std::uint8_t>& rows) : to_(to), rows_(rows) {}

  void push(const Strip& strip) override {
    const std::size_t row_bytes = std::size_t{3} * static_cast<std::size_t>(strip.width);
    if (rows_.size() < kRowsPerStrip * row_bytes) rows_.resize(kRowsPerStrip * row_bytes);
    for (int first = 0; first < strip.rows; first += kRowsPerStrip) {
      const int count = std::min(kRowsPerStrip, strip.rows - first);
      for (int y = 0; y < count; ++y) {
        std::memcpy(rows_.data() + static_cast<std::size_t>(y) * row_bytes,
                    strip.pixels + (first + y) * strip.stride, row_bytes);
      }
      const std::size_t pixels =
          static_cast<std::size_t>(count) * static_cast<std::size_t>(strip.width);
      change_colors(rows_.data(), pixels, {.op = PixelOp::grayscale}, cpu());
      to_.push({.pixels = rows_.data(),
                .stride = static_cast<std::ptrdiff_t>(row_bytes),
                .x = strip.x,
                .y = strip.y + first,
                .width = strip.width,
                .rows = count});
    }
  }

 private:
  StripSink& to_;
  std::vector<std::uint8_t>& rows_;
};

}  // namespace tundish
