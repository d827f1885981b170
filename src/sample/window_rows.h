// A window of an image, kept as it is decoded: several images are made of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/image.h"

namespace tundish {

class WindowRows : public StripSink {
 public:
  // `rgb` gets the pixels of the window.
  WindowRows(std::vector<std::uint8_t>& rgb, const Window& window) : rgb_(rgb), window_(window) {
    const std::size_t bytes = std::size_t{3} * static_cast<std::size_t>(window.width) *
                              static_cast<std::size_t>(window.height);
    if (rgb.size() < bytes) rgb.resize(bytes);
  }

  void push(const Strip& strip) override {
    const int left = std::max(strip.x, window_.x);
    const int right = std::min(strip.x + strip.width, window_.x + window_.width);
    const int top = std::max(strip.y, window_.y);
    const int bottom = std::min(strip.y + strip.rows, window_.y + window_.height);
    if (left >= right) return;
    for (int y = top; y < bottom; ++y) {
      const std::uint8_t* from =
          strip.pixels + (y - strip.y) * strip.stride + std::ptrdiff_t{3} * (left - strip.x);
      std::uint8_t* to =
          rgb_.data() + std::ptrdiff_t{3} *
                            ((y - window_.y) * std::ptrdiff_t{window_.width} + (left - window_.x));
      std::copy_n(from, 3 * (right - left), to);
    }
  }

 private:
  std::vector<std::uint8_t>& rgb_;
  const Window window_;
};

}  // namespace tundish
