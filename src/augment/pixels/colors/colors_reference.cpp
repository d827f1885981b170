#include "augment/pixels/colors/colors_reference.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "augment/pixels/colors/blend_ops.h"

namespace tundish {
namespace {

std::uint8_t clip(int level) { return static_cast<std::uint8_t>(std::clamp(level, 0, 255)); }

void change_color(const PixelStep& step, std::uint8_t* pixel) {
  const std::uint8_t gray = gray_level(pixel[0], pixel[1], pixel[2]);
  const SlowColor before{{pixel[0], pixel[1], pixel[2]}};
  if (step.op == PixelOp::hue) {
    SlowColor hsv = hsv_reference(before);
    hsv.part[0] = static_cast<std::uint8_t>(hsv.part[0] + static_cast<int>(step.value[0]));
    const SlowColor shifted = rgb_reference(hsv);
    std::copy(shifted.part, shifted.part + 3, pixel);
    return;
  }
  for (std::size_t c = 0; c < 3; ++c) {
    if (step.op == PixelOp::grayscale) pixel[c] = gray;
    if (step.op == PixelOp::permute_channels) {
      pixel[c] = before.part[static_cast<int>(step.value[c])];
    }
    if (step.op == PixelOp::saturation) {
      pixel[c] = blend_levels(gray, pixel[c], static_cast<float>(step.value[0]));
    }
  }
}

void contrast(std::vector<std::uint8_t>& rgb, double factor) {
  double sum = 0;
  for (std::size_t i = 0; i < rgb.size(); i += 3) {
    sum += gray_level(rgb[i], rgb[i + 1], rgb[i + 2]);
  }
  const int mean = static_cast<int>(sum / (static_cast<double>(rgb.size()) / 3) + 0.5);
  for (std::uint8_t& level : rgb) level = blend_levels(mean, level, static_cast<float>(factor));
}

using Counts = std::array<std::int64_t, 256>;
using Levels = std::array<int, 256>;

Levels autocontrast(const Counts& counts) {
  int low = 0, high = 255;
  while (counts[static_cast<std::size_t>(low)] == 0) ++low;
  while (counts[static_cast<std::size_t>(high)] == 0) --high;
  Levels table;
  for (int i = 0; i < 256; ++i) {
    const double scale = high > low ? 255.0 / (high - low) : 1.0;
    const double offset = high > low ? -low * scale : 0.0;
    table[static_cast<std::size_t>(i)] = static_cast<int>(i * scale + offset);
  }
  return table;
}

Levels equalize(const Counts& counts) {
  std::int64_t pixels = 0, last = 0;
  for (const std::int64_t count : counts) {
    pixels += count;
    if (count != 0) last = count;
  }
  const std::int64_t step = (pixels - last) / 255;
  std::int64_t n = step / 2;
  Levels table;
  for (std::size_t i = 0; i < 256; ++i) {
    table[i] = static_cast<int>(step == 0 ? static_cast<std::int64_t>(i) : n / step);
    n += counts[i];
  }
  return table;
}

void change_by_counts(PixelOp op, std::vector<std::uint8_t>& rgb) {
  for (std::size_t c = 0; c < 3; ++c) {
    Counts counts{};
    for (std::size_t i = c; i < rgb.size(); i += 3) ++counts[rgb[i]];
    const Levels table = op == PixelOp::equalize ? equalize(counts) : autocontrast(counts);
    for (std::size_t i = c; i < rgb.size(); i += 3) rgb[i] = clip(table[rgb[i]]);
  }
}

// Pillow's 3 x 3 filter: sums from the row below to the row above, in floats.
void sharpen(std::vector<std::uint8_t>& rgb, Size size, double factor) {
  if (size.width < 3 || size.height < 3) return;
  const std::vector<std::uint8_t> from = rgb;
  const std::ptrdiff_t row = size.width * std::ptrdiff_t{3};
  for (std::ptrdiff_t y = 1; y + 1 < size.height; ++y) {
    for (std::ptrdiff_t x = 3; x + 3 < row; ++x) {
      const std::uint8_t* here = from.data() + y * row + x;
      float sum = 0.5f;
      for (const std::ptrdiff_t dy : {row, std::ptrdiff_t{0}, -row}) {
        const float middle = dy == 0 ? 5.0f / 13 : 1.0f / 13;
        sum += static_cast<float>(here[dy - 3]) * (1.0f / 13) +
               static_cast<float>(here[dy]) * middle +
               static_cast<float>(here[dy + 3]) * (1.0f / 13);
      }
      rgb[static_cast<std::size_t>(y * row + x)] =
          blend_levels(clip(static_cast<int>(sum)), *here, static_cast<float>(factor));
    }
  }
}

}  // namespace

SlowColor hsv_reference(const SlowColor& rgb) {
  const auto [red, green, blue] = rgb.part;
  const std::uint8_t most = std::max({red, green, blue}), least = std::min({red, green, blue});
  if (most == least) return {{0, 0, most}};
  const auto chroma = static_cast<float>(most - least);
  const float saturation = chroma / static_cast<float>(most);
  const float r = static_cast<float>(most - red) / chroma;
  const float g = static_cast<float>(most - green) / chroma;
  const float b = static_cast<float>(most - blue) / chroma;
  float hue = b - g;
  if (red != most) hue = static_cast<float>(green == most ? 2.0 + r - b : 4.0 + g - r);
  hue = static_cast<float>(std::fmod(hue / 6.0 + 1.0, 1.0));
  return {{clip(static_cast<int>(hue * 255.0)), clip(static_cast<int>(saturation * 255.0)), most}};
}

SlowColor rgb_reference(const SlowColor& hsv) {
  const auto [hue, saturation, value] = hsv.part;
  if (saturation == 0) return {{value, value, value}};
  const int i = static_cast<int>(std::floor(hue * 6.0 / 255.0));
  const auto f = static_cast<float>(hue * 6.0 / 255.0 - i);
  const auto s = static_cast<float>(saturation / 255.0);
  const std::uint8_t p = clip(static_cast<int>(std::round(value * (1.0 - s))));
  const std::uint8_t q = clip(static_cast<int>(std::round(value * (1.0 - s * f))));
  const std::uint8_t t = clip(static_cast<int>(std::round(value * (1.0 - s * (1.0 - f)))));
  const SlowColor sixths[6] = {{{value, t, p}}, {{q, value, p}}, {{p, value, t}},
                               {{p, q, value}}, {{t, p, value}}, {{value, p, q}}};
  return sixths[i % 6];
}

void change_colors_reference(const PixelStep& step, std::vector<std::uint8_t>& rgb, Size size) {
  if (step.op == PixelOp::contrast) return contrast(rgb, step.value[0]);
  if (step.op == PixelOp::sharpness) return sharpen(rgb, size, step.value[0]);
  if (kind_of(step.op) == PixelKind::statistics) return change_by_counts(step.op, rgb);
  for (std::size_t i = 0; i < rgb.size(); i += 3) change_color(step, rgb.data() + i);
}

}  // namespace tundish
