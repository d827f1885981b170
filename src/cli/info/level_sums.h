// Sums of 8-bit levels and of their squares: integers, so that the order in which images are added
// changes nothing.
#pragma once

#include <array>
#include <cstdint>

#include "base/image.h"

namespace tundish::cli {

// Of more pixels the squares could pass 64 bits.
constexpr std::uint64_t kMaxSummedPixels = UINT64_MAX / (255 * 255);

struct LevelSums {
  std::uint64_t pixels = 0;
  std::array<std::uint64_t, 3> sum{};      // of each channel
  std::array<std::uint64_t, 3> squares{};  // of each channel

  // False, and nothing is added, when the pixels would be more than kMaxSummedPixels.
  bool add(const LevelSums& other);

  // Of the levels as shares of 255; 0 without pixels.
  std::array<double, 3> mean() const;
  std::array<double, 3> std() const;  // of the population: divided by the number of pixels
};

// Adds every pixel of one image of this size, which has at most 65,535 columns (Limits::max_side).
class SumSink : public StripSink {
 public:
  explicit SumSink(Size size) : width_(size.width) {}
  void push(const Strip& strip) override;

  LevelSums sums;

 private:
  int width_;
};

}  // namespace tundish::cli
