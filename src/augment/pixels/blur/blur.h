// Blurs on the CPU: PixelOp::gaussian_blur and PixelOp::box_blur.
#pragma once

#include <cstdint>
#include <vector>

#include "augment/pixels/blur/blur_ops.h"
#include "augment/pixels/pixel_step.h"
#include "base/machine/cpu.h"

namespace tundish {

// Works in the image's memory. Reuses its buffers across images. Not thread-safe.
class Blur {
 public:
  explicit Blur(Cpu cpu) : cpu_(cpu) {}

  void run(const PixelStep& step, std::vector<std::uint8_t>& rgb, Size size);

  // Upper bound of the memory for one step.
  static std::uint64_t bytes(const PixelStep& step, Size size);

 private:
  void gaussian(const PixelStep& step, std::uint8_t* rgb, Size size);
  void box(const PixelStep& step, std::uint8_t* rgb, Size size);
  void box_across(const Box& box, std::uint8_t* rgb, Size size);
  void box_down(const Box& box, std::uint8_t* rgb, Size size);

  const Cpu cpu_;
  std::vector<float> line_, rows_;               // Gaussian: a padded line, and finished lines
  std::vector<const float*> around_;             // the lines above and below a line
  std::vector<std::uint32_t> sums_;              // a line before conversion to bytes
  std::vector<std::uint16_t> strip_, strip_to_;  // box: padded lines
};

// Reference implementation.
void blur_reference(const PixelStep& step, std::vector<std::uint8_t>& rgb, Size size);

}  // namespace tundish
