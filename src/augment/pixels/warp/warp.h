// Operations that show pixels from elsewhere (affine, perspective) on an image in memory.
#pragma once

#include <cstdint>
#include <vector>

#include "augment/pixels/pixel_step.h"
#include "base/machine/cpu.h"

namespace tundish {

struct WarpRows;

// Keeps its buffers from image to image. One thread.
class Warp {
 public:
  // Changes the image and its size. The image may change its memory.
  void run(const PixelStep& step, std::vector<std::uint8_t>& rgb, Size& size, Cpu cpu);

 private:
  void fixed_rows(const WarpRows& rows, Cpu cpu);
  void scaled_rows(const WarpRows& rows, Cpu cpu);

  std::vector<std::uint8_t> result_;
  std::vector<std::uint8_t> fill_;     // one row
  std::vector<std::int32_t> offsets_;  // of one row's pixels in the image, in bytes
};

// The obviously right twin: one pixel after the other.
void warp_reference(const PixelStep& step, std::vector<std::uint8_t>& rgb, Size& size);

}  // namespace tundish
