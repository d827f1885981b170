// Operations on single levels, as in Pillow 12's ImageOps and ImageEnhance. Shared by CPU and
// GPU.
#pragma once

#include "augment/pixels/colors/blend_ops.h"
#include "augment/pixels/pixel_step.h"

namespace tundish {

// Applies an operation of PixelKind::levels to a level.
TUNDISH_HOST_DEVICE std::uint8_t level_after(const PixelStep& step, std::uint8_t level) {
  switch (step.op) {
    case PixelOp::brightness:
      return blend_levels(0, level, static_cast<float>(step.value[0]));
    case PixelOp::invert:
      return static_cast<std::uint8_t>(255 - level);
    case PixelOp::posterize: {
      const int dropped = 8 - static_cast<int>(step.value[0]);
      return static_cast<std::uint8_t>(level >> dropped << dropped);
    }
    case PixelOp::solarize:
      return level < step.value[0] ? level : static_cast<std::uint8_t>(255 - level);
    case PixelOp::solarize_add: {
      const int sum = level + static_cast<int>(step.value[0]);
      return level < step.value[1] ? static_cast<std::uint8_t>(sum > 255 ? 255 : sum) : level;
    }
    default:
      return level;
  }
}

}  // namespace tundish
