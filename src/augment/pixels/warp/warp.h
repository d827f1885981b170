// Operations that move pixels (affine, perspective) on an image in memory.
#pragma once

#include <cstdint>
#include <vector>

#include "augment/pixels/pixel_step.h"
#include "base/machine/cpu.h"

namespace tundish {

struct WarpRows;

// Reuses its buffers across images. Not thread-safe.
class Warp {
 public:
  // Changes the image and its size. May reallocate `rgb`.
  void run(const PixelStep& step, std::vector<std::uint8_t>& rgb, Size& size, Cpu cpu);

 private:
  void fixed_rows(const WarpRows& rows, Cpu cpu);
  void scaled_rows(const WarpRows& rows, Cpu cpu);

  std::vector<std::uint8_t> result_;
  std::vector<std::uint8_t> fill_;     // one row
  std::vector<std::int32_t> offsets_;  // byte offsets in the image of one row's pixels
};

// Reference implementation: one pixel at a time.
void warp_reference(const PixelStep& step, std::vector<std::uint8_t>& rgb, Size& size);

}  // namespace tundish
