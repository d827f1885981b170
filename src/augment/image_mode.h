// What the pixels of a batch are, by Pillow's names.
#pragma once

#include <array>
#include <cstdint>

namespace tundish {

// Images of every mode are interleaved 8-bit RGB until they are stored; `l` has three equal
// channels and stores one.
enum class ImageMode : std::uint8_t { rgb = 0, l = 1 };
constexpr std::array<const char*, 2> words(ImageMode) { return {"RGB", "L"}; }

// Of an image in a batch.
constexpr int channels_of(ImageMode mode) { return mode == ImageMode::rgb ? 3 : 1; }

}  // namespace tundish
