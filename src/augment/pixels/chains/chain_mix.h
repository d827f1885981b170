// The weighted sum of images: PixelOp::mix_begin, mix_add and mix_end.
#pragma once

#include <cstdint>
#include <vector>

#include "augment/pixels/pixel_step.h"

namespace tundish {

// Keeps its buffers from image to image. One thread.
class ChainMix {
 public:
  // The steps come in order: mix_begin, each mix_add, mix_end. The image has the same size in each.
  void run(const PixelStep& step, std::vector<std::uint8_t>& rgb);

  // Memory from mix_begin to mix_end.
  static std::uint64_t bytes(Size size);

 private:
  std::vector<std::uint8_t> kept_;
  std::vector<float> sum_;  // of levels times weights
};

}  // namespace tundish
