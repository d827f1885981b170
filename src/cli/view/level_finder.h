// Converts elements of a batch to displayable levels: reverses ToDtype and Normalize.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "augment/transforms.h"

namespace tundish::cli {

// Returns the transforms with float32 elements instead of float16 and bfloat16.
Transforms in_float32(const Transforms& transforms);

// Maps each element to the level with the nearest element. Elements without a level, such as values
// from a RandomErasing after Normalize, map to the closest level.
class LevelFinder {
 public:
  // Requires float32 or uint8 elements.
  explicit LevelFinder(const PixelTable& table);
  std::uint8_t level(float element, std::size_t channel) const;

 private:
  // Ascending; the fourth channel is alpha, if present.
  std::array<std::array<std::pair<float, std::uint8_t>, 256>, 4> elements_;
};

}  // namespace tundish::cli
