// The weighted sum of images: PixelOp::mix_begin, mix_add and mix_end.
#pragma once

#include <cstdint>
#include <vector>

#include "augment/pixels/pixel_step.h"

namespace tundish {

// Reuses its buffers across images. Not thread-safe.
class ChainMix {
 public:
  // Steps must come in order: mix_begin, each mix_add, mix_end. The image keeps its size.
  void run(const PixelStep& step, std::vector<std::uint8_t>& rgb);

  // Memory used from mix_begin to mix_end.
  static std::uint64_t bytes(Size size);

 private:
  std::vector<std::uint8_t> kept_;
  std::vector<float> sum_;  // sums of levels times weights
};

}  // namespace tundish
