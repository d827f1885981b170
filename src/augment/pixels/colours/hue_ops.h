// Pillow 12's HSV and back, in integers and float32. Pillow computes with doubles; hue_ops_test.cpp
// compares all colours. CPU and GPU share this.
#pragma once

#include <cstdint>

#include "core/host_device.h"

namespace tundish {

struct Hsv {
  int hue, saturation, value;
};

// Bit n: where the hue is the whole number n exactly, Pillow's floats come out just below it, and
// Pillow has n - 1.
TUNDISH_HOST_DEVICE constexpr std::uint32_t hue_below(int i) {
  constexpr std::uint32_t kBelow[8] = {0xfffffffeu, 0x00000000u, 0x11000000u, 0x00000111u,
                                       0x222aaaaau, 0x23232222u, 0x00022222u, 0x00000000u};
  return kBelow[i];
}
inline constexpr std::uint32_t kHueBelow[8] = {hue_below(0), hue_below(1), hue_below(2),
                                               hue_below(3), hue_below(4), hue_below(5),
                                               hue_below(6), hue_below(7)};

// The hue 42.5 * sixths / chroma, rounded down as Pillow does. `sixths`: 0 .. 6 * chroma - 1, how
// far around the colour circle.
TUNDISH_HOST_DEVICE int hue_of(int sixths, int chroma) {
  const int whole = 85 * sixths / (2 * chroma);
  const bool exact = whole * 2 * chroma == 85 * sixths;
  const int below = static_cast<int>(hue_below(whole >> 5) >> (whole & 31) & 1u);
  return exact ? whole - below : whole;
}

TUNDISH_HOST_DEVICE Hsv hsv_of(int red, int green, int blue) {
  const int most = red > green ? (red > blue ? red : blue) : (green > blue ? green : blue);
  const int least = red < green ? (red < blue ? red : blue) : (green < blue ? green : blue);
  const int chroma = most - least;
  if (chroma == 0) return {0, 0, most};
  int sixths = red == most     ? green - blue
               : green == most ? blue - red + 2 * chroma
                               : red - green + 4 * chroma;
  if (sixths < 0) sixths += 6 * chroma;
  return {hue_of(sixths, chroma), 255 * chroma / most, most};
}

// value * (1 - saturation / 255 * part / 85), to the nearest: never half way between two.
TUNDISH_HOST_DEVICE int lowered(int value, int saturation, int part) {
  return (2 * value * (21675 - saturation * part) + 21675) / 43350;
}

// The sixth of the colour circle that a hue is in; 6, which is 0 again, for 255.
TUNDISH_HOST_DEVICE int sixth_of(int hue) { return hue * 1543 >> 16; }

// Red in the lowest byte.
TUNDISH_HOST_DEVICE std::uint32_t rgb_of(const Hsv& hsv) {
  const int sixth = sixth_of(hsv.hue), part = 2 * hsv.hue - 85 * sixth;
  const auto value = static_cast<std::uint32_t>(hsv.value);
  const auto low = static_cast<std::uint32_t>(lowered(hsv.value, hsv.saturation, 85));
  const auto between = static_cast<std::uint32_t>(
      lowered(hsv.value, hsv.saturation, sixth % 2 == 1 ? part : 85 - part));
  switch (sixth) {
    case 1:
      return between | value << 8 | low << 16;
    case 2:
      return low | value << 8 | between << 16;
    case 3:
      return low | between << 8 | value << 16;
    case 4:
      return between | low << 8 | value << 16;
    case 5:
      return value | low << 8 | between << 16;
    default:
      return value | between << 8 | low << 16;
  }
}

}  // namespace tundish
