// Row sink that keeps the result of a step as an image, the input of the next step.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "augment/cpu/resample.h"
#include "augment/cpu/row_split.h"

namespace tundish {

class KeptRows : public RowSink {
 public:
  explicit KeptRows(Cpu cpu = tundish::cpu()) : cpu_(cpu) {}

  // Resizes `image` to hold exactly `size` pixels.
  void begin(std::vector<std::uint8_t>& image, Size size) {
    image_ = &image;
    image.resize(std::size_t{3} * static_cast<std::size_t>(size.width) *
                 static_cast<std::size_t>(size.height));
  }

  void row(int y, const std::uint8_t* rgb, int width, bool mirror_x) override {
    std::uint8_t* to = place_of(y, width);
    if (!mirror_x) {
      std::copy_n(rgb, 3 * width, to);
    } else {
      (cpu_ >= Cpu::sse ? mirror_row_sse : mirror_row)(to, rgb, width);
    }
  }

  std::uint8_t* place_of(int y, int width) override {
    return image_->data() + std::ptrdiff_t{3} * y * width;
  }

 private:
  Cpu cpu_;
  std::vector<std::uint8_t>* image_ = nullptr;
};

}  // namespace tundish
