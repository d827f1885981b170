// Pillow 12's HSV conversions in integers and float32. Pillow computes with doubles.
// hue_ops_test.cpp compares all colors. Shared by CPU and GPU.
#pragma once

#include <cstdint>

#include "base/host_device.h"

namespace tundish {

struct Hsv {
  int hue, saturation, value;
};

// Bit n is set if Pillow computes n - 1 for a hue of exactly n, because its floating-point result
// is just below n.
TUNDISH_HOST_DEVICE constexpr std::uint32_t hue_below(int i) {
  constexpr std::uint32_t kBelow[8] = {0xfffffffeu, 0x00000000u, 0x11000000u, 0x00000111u,
                                       0x222aaaaau, 0x23232222u, 0x00022222u, 0x00000000u};
  return kBelow[i];
}
inline constexpr std::uint32_t kHueBelow[8] = {hue_below(0), hue_below(1), hue_below(2),
                                               hue_below(3), hue_below(4), hue_below(5),
                                               hue_below(6), hue_below(7)};

// Returns the hue 42.5 * sixths / chroma, rounded down like Pillow. `sixths`: 0 .. 6 * chroma - 1,
// the position on the color circle.
TUNDISH_HOST_DEVICE int hue_of(int sixths, int chroma) {
  const int whole = 85 * sixths / (2 * chroma);
  const bool exact = whole * 2 * chroma == 85 * sixths;
  const int below = static_cast<int>(hue_below(whole >> 5) >> (whole & 31) & 1u);
  return exact ? whole - below : whole;
}

// Returns the hue from 42.5 * sixths / chroma in float32 with a relative error of 2^-20. The exact
// quotient is an integer or 1 / (2 * 255) away from one. `below`: hue_below() of 0 .. 7.
TUNDISH_HOST_DEVICE int hue_from(float quotient, const std::uint32_t* below) {
  const int whole = static_cast<int>(quotient + 1.0f / 1024);
  const int before = static_cast<int>(quotient - 1.0f / 1024);
  const auto bit = static_cast<int>(below[whole >> 5] >> (whole & 31));
  return whole - (bit & (whole - before) & 1);
}

// Returns the saturation from 255 * chroma / most with the same relative error.
TUNDISH_HOST_DEVICE int saturation_from(float quotient) {
  return static_cast<int>(quotient + 1.0f / 1024);
}

// Returns the position on the color circle: chroma units per sixth of the circle; chroma > 0.
TUNDISH_HOST_DEVICE int sixths_of(int red, int green, int blue, int most, int chroma) {
  const int sixths = red == most     ? green - blue
                     : green == most ? blue - red + 2 * chroma
                                     : red - green + 4 * chroma;
  return sixths < 0 ? sixths + 6 * chroma : sixths;
}

TUNDISH_HOST_DEVICE Hsv hsv_of(int red, int green, int blue) {
  const int most = red > green ? (red > blue ? red : blue) : (green > blue ? green : blue);
  const int least = red < green ? (red < blue ? red : blue) : (green < blue ? green : blue);
  const int chroma = most - least;
  if (chroma == 0) return {0, 0, most};
  return {hue_of(sixths_of(red, green, blue, most, chroma), chroma), 255 * chroma / most, most};
}

// value * (1 - saturation / 255 * part / 85), rounded to nearest; never halfway between integers.
TUNDISH_HOST_DEVICE int lowered(int value, int saturation, int part) {
  return (2 * value * (21675 - saturation * part) + 21675) / 43350;
}

// Returns the sixth of the color circle that contains a hue; 6 (the same as 0) for 255.
TUNDISH_HOST_DEVICE int sixth_of(int hue) { return hue * 1543 >> 16; }

// The three levels of a color, highest level in the lowest byte, and the sixth that orders them.
struct HueParts {
  std::uint32_t levels;
  int sixth;
};
TUNDISH_HOST_DEVICE HueParts parts_of(const Hsv& hsv) {
  const int sixth = sixth_of(hsv.hue), part = 2 * hsv.hue - 85 * sixth;
  const auto value = static_cast<std::uint32_t>(hsv.value);
  const auto low = static_cast<std::uint32_t>(lowered(hsv.value, hsv.saturation, 85));
  const auto between = static_cast<std::uint32_t>(
      lowered(hsv.value, hsv.saturation, sixth % 2 == 1 ? part : 85 - part));
  return {value | between << 8 | low << 16, sixth};
}

// Byte of HueParts::levels for red, green and blue, in four bits each; 4 selects no byte.
TUNDISH_HOST_DEVICE constexpr std::uint32_t channel_order(int sixth) {
  constexpr std::uint32_t kOrder[8] = {0x4210, 0x4201, 0x4102, 0x4012,
                                       0x4021, 0x4120, 0x4210, 0x4210};
  return kOrder[sixth];
}

// Returns the color with red in the lowest byte.
TUNDISH_HOST_DEVICE std::uint32_t rgb_of(const Hsv& hsv) {
  const HueParts parts = parts_of(hsv);
  const std::uint32_t order = channel_order(parts.sixth);
  std::uint32_t out = 0;
  for (int c = 0; c < 3; ++c) {
    out |= (parts.levels >> (8 * (order >> (4 * c) & 15)) & 0xff) << (8 * c);
  }
  return out;
}

}  // namespace tundish
