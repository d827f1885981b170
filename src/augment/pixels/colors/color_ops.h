// Operations on single pixels, as in Pillow 12. Shared by CPU and GPU.
#pragma once

#include "augment/pixels/colors/blend_ops.h"
#include "augment/pixels/colors/hue_ops.h"
#include "augment/pixels/pixel_step.h"

namespace tundish {

// Applies an operation of PixelKind::colors to a color. Red is the lowest byte.
TUNDISH_HOST_DEVICE std::uint32_t color_after(const PixelStep& step, std::uint32_t rgb) {
  const int red = static_cast<int>(rgb & 0xff), green = static_cast<int>(rgb >> 8 & 0xff);
  const int blue = static_cast<int>(rgb >> 16 & 0xff);
  const std::uint32_t gray = gray_level(red, green, blue);
  switch (step.op) {
    case PixelOp::saturation: {
      const auto factor = static_cast<float>(step.value[0]);
      const int from = static_cast<int>(gray);
      return std::uint32_t{blend_levels(from, red, factor)} |
             std::uint32_t{blend_levels(from, green, factor)} << 8 |
             std::uint32_t{blend_levels(from, blue, factor)} << 16;
    }
    case PixelOp::hue: {
      Hsv hsv = hsv_of(red, green, blue);
      hsv.hue = (hsv.hue + static_cast<int>(step.value[0])) & 0xff;
      return rgb_of(hsv);
    }
    case PixelOp::grayscale:
      return gray | gray << 8 | gray << 16;
    case PixelOp::permute_channels: {
      std::uint32_t out = 0;
      for (int c = 0; c < 3; ++c) {
        out |= (rgb >> (8 * static_cast<int>(step.value[static_cast<std::size_t>(c)])) & 0xff)
               << (8 * c);
      }
      return out;
    }
    default:
      return rgb;
  }
}

}  // namespace tundish
