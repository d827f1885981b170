// What the pixels of a batch are, by Pillow's names.
#pragma once

#include <array>
#include <cstdint>

namespace tundish {

// Images of every mode are interleaved pixels of three bytes until they are stored. Those of `l`
// are equal, and one is stored. Those of `i16` are the low and the high byte of a 16-bit gray, and
// 0: plans of this mode move pixels, and resize them (augment/pixels/levels/resize_16.h). Those of
// `rgba` are the colors; the alpha is an image of its own (augment/cpu/rgba/rgba_runner.h).
enum class ImageMode : std::uint8_t { rgb = 0, l = 1, i16 = 2, rgba = 3 };
constexpr std::array<const char*, 4> words(ImageMode) { return {"RGB", "L", "I;16", "RGBA"}; }

// Of an image in a batch.
constexpr int channels_of(ImageMode mode) {
  if (mode == ImageMode::rgba) return 4;
  return mode == ImageMode::rgb ? 3 : 1;
}

}  // namespace tundish
