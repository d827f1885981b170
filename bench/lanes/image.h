// An image of bench_lanes: the JPEG, its record, and the crop that every contestant makes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "augment/cpu/resample.h"
#include "base/image.h"

namespace tundish::bench {

inline constexpr int kSide = 224;  // side of the resized crop
inline constexpr std::size_t kCropBytes = std::size_t{3} * kSide * kSide;

struct Image {
  std::vector<std::byte> jpeg, record, restore;
  Size size;
  Window crop;
  int sampling = 0;
};

inline ResizeStep step_of(const Window& crop) {
  return {.crop = crop,
          .size = {kSide, kSide},
          .filter = Filter::bilinear,
          .keep = {0, 0, kSide, kSide}};
}

// Receives a resized crop.
class Picture : public RowSink {
 public:
  explicit Picture(std::uint8_t* to) : to_(to) {}
  void row(int y, const std::uint8_t* rgb, int width, bool) override {
    const auto bytes = std::size_t{3} * static_cast<std::size_t>(width);
    std::memcpy(to_ + static_cast<std::size_t>(y) * bytes, rgb, bytes);
  }

 private:
  std::uint8_t* to_;
};

}  // namespace tundish::bench
