// torchvision RandomCrop: a random window of fixed size, after optional padding.
#pragma once

#include <array>

#include "augment/plan.h"
#include "core/random.h"

namespace tundish {

struct RandomCrop {
  Size size;
  std::array<int, 4> padding = {0, 0, 0, 0};  // left, top, right, bottom
  bool pad_if_needed = false;
  PadMode pad_mode = PadMode::constant;
  std::array<std::uint8_t, 3> fill{};
};

// Throws Error(argument) when the padded image is smaller than the crop, naming both.
void random_crop(View& view, const RandomCrop& op, Random& random);

}  // namespace tundish
