#include "augment/pixels/colors/colors.h"

#include "augment/pixels/colors/blend_ops.h"
#include "augment/pixels/colors/hue_ops.h"

namespace tundish {
namespace {

// Calls change(pixel, red, green, blue) for every pixel.
template <class Change>
void each_pixel(std::uint8_t* rgb, std::size_t pixels, Change change) {
  for (std::size_t i = 0; i < pixels; ++i, rgb += 3) change(rgb, rgb[0], rgb[1], rgb[2]);
}

void set(std::uint8_t* pixel, int red, int green, int blue) {
  pixel[0] = static_cast<std::uint8_t>(red);
  pixel[1] = static_cast<std::uint8_t>(green);
  pixel[2] = static_cast<std::uint8_t>(blue);
}

void change_baseline(std::uint8_t* rgb, std::size_t pixels, const PixelStep& step) {
  switch (step.op) {
    case PixelOp::saturation: {
      const auto factor = static_cast<float>(step.value[0]);
      return each_pixel(rgb, pixels, [factor](std::uint8_t* pixel, int red, int green, int blue) {
        const int gray = gray_level(red, green, blue);
        set(pixel, blend_levels(gray, red, factor), blend_levels(gray, green, factor),
            blend_levels(gray, blue, factor));
      });
    }
    case PixelOp::hue: {
      const int added = static_cast<int>(step.value[0]);
      return each_pixel(rgb, pixels, [added](std::uint8_t* pixel, int red, int green, int blue) {
        Hsv hsv = hsv_of(red, green, blue);
        hsv.hue = (hsv.hue + added) & 255;
        const std::uint32_t shifted = rgb_of(hsv);
        set(pixel, shifted & 255, shifted >> 8 & 255, shifted >> 16);
      });
    }
    case PixelOp::permute_channels: {
      const std::size_t from[3] = {static_cast<std::size_t>(step.value[0]),
                                   static_cast<std::size_t>(step.value[1]),
                                   static_cast<std::size_t>(step.value[2])};
      return each_pixel(rgb, pixels, [&from](std::uint8_t* pixel, int red, int green, int blue) {
        const int channel[3] = {red, green, blue};
        set(pixel, channel[from[0]], channel[from[1]], channel[from[2]]);
      });
    }
    default:
      return each_pixel(rgb, pixels, [](std::uint8_t* pixel, int red, int green, int blue) {
        const int gray = gray_level(red, green, blue);
        set(pixel, gray, gray, gray);
      });
  }
}

}  // namespace

void change_colors(std::uint8_t* rgb, std::size_t pixels, const PixelStep& step, Cpu cpu) {
  if (cpu == Cpu::avx512) return change_colors_avx512(rgb, pixels, step);
  if (cpu == Cpu::avx2) return change_colors_avx2(rgb, pixels, step);
  change_baseline(rgb, pixels, step);
}

std::uint64_t sum_of_grays(const std::uint8_t* rgb, std::size_t pixels, Cpu cpu) {
  if (cpu == Cpu::avx512) return sum_of_grays_avx512(rgb, pixels);
  if (cpu == Cpu::avx2) return sum_of_grays_avx2(rgb, pixels);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < pixels; ++i, rgb += 3) sum += gray_level(rgb[0], rgb[1], rgb[2]);
  return sum;
}

}  // namespace tundish
