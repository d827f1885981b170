// colors.h with one pixel per 32-bit lane. Included by one file per instruction set, which defines
// `Lanes`:
//   Ints, Floats        registers of kPixels numbers
//   load(rg, bg, rgb)   red | green << 16 and blue | green << 16 of kPixels pixels
//   store(rgb, packed)  from red | green << 8 | blue << 16; the highest byte is ignored
//   multiply_pairs(a, b), low_of, high_of (of two Floats or Ints), nearest(floats)
//   pick(eight, index)  one of 8 numbers; index 0 .. 7
//   shuffle(a, order)   the bytes of each 32-bit lane in the order given by the bytes of `order`
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "augment/pixels/colors/colors.h"
#include "augment/pixels/colors/hue_ops.h"

namespace tundish {
namespace {

using Ints = Lanes::Ints;
using Floats = Lanes::Floats;

Floats floats(Ints a) { return __builtin_convertvector(a, Floats); }
Ints truncated(Floats a) { return __builtin_convertvector(a, Ints); }
Ints all(int number) { return Ints{} + number; }
Floats all(float number) { return Floats{} + number; }

Ints packed(Ints red, Ints green, Ints blue) { return red | green << 8 | blue << 16; }

// Green's weight is split in two halves: the whole weight does not fit a signed 16-bit number.
Ints gray(Ints rg, Ints bg) {
  const Ints sum = Lanes::multiply_pairs(rg, all(19595 | 19235 << 16)) +
                   Lanes::multiply_pairs(bg, all(7471 | 19235 << 16));
  return (sum + 0x8000) >> 16;
}

Ints blended(Floats from, Ints to, Floats factor) {
  const Floats level = from + factor * (floats(to) - from);
  return truncated(Lanes::low_of(Lanes::high_of(level, all(0.0f)), all(255.0f)));
}

struct Saturation {
  Floats factor;
  Ints operator()(Ints rg, Ints bg) const {
    const Floats from = floats(gray(rg, bg));
    return packed(blended(from, rg & 255, factor), blended(from, rg >> 16, factor),
                  blended(from, bg & 255, factor));
  }
};

struct Grayscale {
  Ints operator()(Ints rg, Ints bg) const {
    const Ints level = gray(rg, bg);
    return packed(level, level, level);
  }
};

struct Permute {
  Ints order;  // byte order
  Ints operator()(Ints rg, Ints bg) const {
    return Lanes::shuffle(packed(rg & 255, rg >> 16, bg & 255), order);
  }
};

// The integers of hue_ops.h are exact in float32: all are below 2^24. A quotient is exact or far
// from an integer: by 1 / (2 * 255) for the hue, 1 / 255 for the saturation, and 1 / 43350 from a
// half in lowered().
struct Hue {
  Ints added;

  static Ints hue_of(Ints sixths, Ints chroma) {
    const Floats hue = floats(sixths) * 42.5f / floats(chroma);
    const Ints whole = truncated(hue + 1.0f / 1024), before = truncated(hue - 1.0f / 1024);
    const Ints bits = Lanes::pick(kHueBelow, whole >> 5);
    return whole - (Lanes::shifted(bits, whole & 31) & (whole - before) & 1);
  }
  static Ints lowered(Floats value, Floats saturation, Ints part) {
    return Lanes::nearest(value * (21675.0f - saturation * floats(part)) * (1.0f / 21675.0f));
  }

  Ints operator()(Ints rg, Ints bg) const {
    const Ints red = rg & 255, green = rg >> 16, blue = bg & 255;
    const Ints most = Lanes::high_of(Lanes::high_of(red, green), blue);
    const Ints chroma = most - Lanes::low_of(Lanes::low_of(red, green), blue);
    Ints sixths = red - green + (chroma << 2);
    sixths = green == most ? blue - red + (chroma << 1) : sixths;
    sixths = red == most ? green - blue : sixths;
    sixths += (sixths >> 31) & ((chroma << 2) + (chroma << 1));
    const Ints from = hue_of(sixths, Lanes::high_of(chroma, all(1)));
    const Floats value = floats(most);
    const Floats saturation =
        floats(truncated(floats(chroma) * 255.0f / Lanes::high_of(value, all(1.0f))));

    const Ints hue = (from + added) & 255;
    const Ints sixth = hue * 1543 >> 16, part = (hue << 1) - sixth * 85;
    const Ints odd = -(sixth & 1);
    const Ints between = lowered(value, saturation, (odd & part) | (~odd & (85 - part)));
    const Ints least = lowered(value, saturation, all(85));
    // Order of bytes 0, 1, 2 of value | between << 8 | least << 16, for each sixth of the circle.
    constexpr std::uint32_t kOrder[8] = {0x020100, 0x020001, 0x010002, 0x000102,
                                         0x000201, 0x010200, 0x020100, 0x020100};
    return Lanes::shuffle(packed(most, between, least), Lanes::pick(kOrder, sixth));
  }
};

template <class Change>
void each_pixel(std::uint8_t* rgb, std::size_t pixels, Change change) {
  const auto some = [&change](std::uint8_t* at) {
    Ints rg, bg;
    Lanes::load(rg, bg, at);
    Lanes::store(at, change(rg, bg));
  };
  std::size_t i = 0;
  for (; i + Lanes::kPixels <= pixels; i += Lanes::kPixels) some(rgb + 3 * i);
  if (i == pixels) return;
  std::uint8_t last[3 * Lanes::kPixels] = {};
  std::memcpy(last, rgb + 3 * i, 3 * (pixels - i));
  some(last);
  std::memcpy(rgb + 3 * i, last, 3 * (pixels - i));
}

void change_colors(std::uint8_t* rgb, std::size_t pixels, const PixelStep& step) {
  const double* value = reinterpret_cast<const double*>(&step.value);
  switch (step.op) {
    case PixelOp::saturation:
      return each_pixel(rgb, pixels, Saturation{all(static_cast<float>(value[0]))});
    case PixelOp::hue:
      return each_pixel(rgb, pixels, Hue{all(static_cast<int>(value[0]))});
    case PixelOp::permute_channels:
      return each_pixel(rgb, pixels,
                        Permute{all(static_cast<int>(value[0]) | static_cast<int>(value[1]) << 8 |
                                    static_cast<int>(value[2]) << 16)});
    default:
      return each_pixel(rgb, pixels, Grayscale{});
  }
}

std::uint64_t sum_of_grays(const std::uint8_t* rgb, std::size_t pixels) {
  std::uint64_t sum = 0;
  const auto add = [&sum](Ints sums) {
    for (int k = 0; k < Lanes::kPixels; ++k) sum += static_cast<std::uint32_t>(sums[k]);
  };
  constexpr std::size_t kAtOnce = 1 << 20;  // 2^20 levels of 255 fit into 32 bits
  std::size_t i = 0;
  Ints rg, bg, sums = all(0);
  for (std::size_t blocks = 1; i + Lanes::kPixels <= pixels; i += Lanes::kPixels, ++blocks) {
    Lanes::load(rg, bg, rgb + 3 * i);
    sums += gray(rg, bg);
    if (blocks % kAtOnce != 0) continue;
    add(sums);
    sums = all(0);
  }
  std::uint8_t last[3 * Lanes::kPixels] = {};  // the gray of black is 0
  std::memcpy(last, rgb + 3 * i, 3 * (pixels - i));
  Lanes::load(rg, bg, last);
  add(sums + gray(rg, bg));
  return sum;
}

}  // namespace
}  // namespace tundish
