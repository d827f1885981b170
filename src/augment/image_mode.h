// Pixel formats of a batch, by Pillow's names.
#pragma once

#include <array>
#include <cstdint>

namespace tundish {

// Images of every mode are interleaved pixels of three bytes until they are stored. Mode `l` has
// three equal bytes, one of which is stored. Mode `i16` has the low and high byte of a 16-bit gray,
// and 0; its plans only move and resize pixels (augment/pixels/levels/resize_16.h). Mode `rgba` has
// the colors here and the alpha in a separate image (augment/cpu/rgba/rgba_runner.h).
enum class ImageMode : std::uint8_t { rgb = 0, l = 1, i16 = 2, rgba = 3 };
constexpr std::array<const char*, 4> words(ImageMode) { return {"RGB", "L", "I;16", "RGBA"}; }

// Returns the number of channels of an image in a batch.
constexpr int channels_of(ImageMode mode) {
  if (mode == ImageMode::rgba) return 4;
  return mode == ImageMode::rgb ? 3 : 1;
}

}  // namespace tundish
