// Blurs on the CPU: PixelOp::gaussian_blur and PixelOp::box_blur.
#pragma once

#include <cstdint>
#include <vector>

#include "augment/pixels/blur/blur_ops.h"
#include "augment/pixels/pixel_step.h"
#include "base/machine/cpu.h"

namespace tundish {

// Works in the image's own memory. Keeps its buffers from image to image. One thread.
class Blur {
 public:
  explicit Blur(Cpu cpu) : cpu_(cpu) {}

  void run(const PixelStep& step, std::vector<std::uint8_t>& rgb, Size size);

  // Memory for one step, at most.
  static std::uint64_t bytes(const PixelStep& step, Size size);

 private:
  void gaussian(const PixelStep& step, std::uint8_t* rgb, Size size);
  void box(const PixelStep& step, std::uint8_t* rgb, Size size);
  void box_across(const Box& box, std::uint8_t* rgb, Size size);
  void box_down(const Box& box, std::uint8_t* rgb, Size size);

  const Cpu cpu_;
  std::vector<float> line_, rows_;    // of the Gaussian: a padded line, lines that are done
  std::vector<const float*> around_;  // the lines above and below one
  std::vector<std::uint32_t> sums_;   // a line before it becomes bytes
  std::vector<std::uint16_t> strip_, strip_to_;  // of the box: padded lines
};

// The obviously right twin.
void blur_reference(const PixelStep& step, std::vector<std::uint8_t>& rgb, Size size);

}  // namespace tundish
