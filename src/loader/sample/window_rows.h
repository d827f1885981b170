// Keeps a window of an image while it is decoded, so that several images can be made from it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/image.h"

namespace tundish {

class WindowRows : public StripSink {
 public:
  // `rgb` receives the pixels of the window, followed by their alpha.
  WindowRows(std::vector<std::uint8_t>& rgb, const Window& window, bool keep_alpha)
      : rgb_(rgb), window_(window), keep_alpha_(keep_alpha) {
    const std::size_t bytes = (keep_alpha ? 4 : 3) * pixels();
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
      if (keep_alpha_) put_alpha(strip, y, left, right);
    }
  }

  // Returns the stored window.
  Strip strip() const {
    return {.pixels = rgb_.data(),
            .stride = std::ptrdiff_t{3} * window_.width,
            .x = window_.x,
            .y = window_.y,
            .width = window_.width,
            .rows = window_.height,
            .alpha = keep_alpha_ ? rgb_.data() + 3 * pixels() : nullptr,
            .alpha_stride = window_.width};
  }

 private:
  std::size_t pixels() const {
    return static_cast<std::size_t>(window_.width) * static_cast<std::size_t>(window_.height);
  }

  void put_alpha(const Strip& strip, int y, int left, int right) {
    std::uint8_t* to = rgb_.data() + 3 * pixels() +
                       (y - window_.y) * std::ptrdiff_t{window_.width} + (left - window_.x);
    for (int x = left; x < right; ++x) *to++ = alpha_of(strip, y - strip.y, x - strip.x);
  }

  std::vector<std::uint8_t>& rgb_;
  const Window window_;
  const bool keep_alpha_;
};

}  // namespace tundish
