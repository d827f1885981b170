// Sums of 8-bit levels and of their squares. The sums are integers, so the result does not depend
// on the order in which images are added.
#pragma once

#include <array>
#include <cstdint>

#include "base/image.h"

namespace tundish::cli {

// With more pixels, the sum of squares could overflow 64 bits.
constexpr std::uint64_t kMaxSummedPixels = UINT64_MAX / (255 * 255);

struct LevelSums {
  std::uint64_t pixels = 0;
  std::array<std::uint64_t, 3> sum{};      // per channel
  std::array<std::uint64_t, 3> squares{};  // per channel

  // Returns false and adds nothing if the total would exceed kMaxSummedPixels.
  bool add(const LevelSums& other);

  // Levels as fractions of 255; 0 without pixels.
  std::array<double, 3> mean() const;
  std::array<double, 3> std() const;  // population std: divides by the pixel count
};

// Adds every pixel of one image of this size. Width is at most 65,535 (Limits::max_side).
class SumSink : public StripSink {
 public:
  explicit SumSink(Size size) : width_(size.width) {}
  void push(const Strip& strip) override;

  LevelSums sums;

 private:
  int width_;
};

}  // namespace tundish::cli
