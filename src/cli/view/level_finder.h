// Elements of a batch as the levels that a person can look at: undoes ToDtype and Normalize.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "augment/transforms.h"

namespace tundish::cli {

// The same transforms, with elements of float32 instead of float16 and bfloat16.
Transforms in_float32(const Transforms& transforms);

// Takes elements back to the level whose element is nearest. Elements that no level has, such as
// those of a RandomErasing after Normalize, become the level that looks most like them.
class LevelFinder {
 public:
  // Of float32 or uint8 elements.
  explicit LevelFinder(const PixelTable& table);
  std::uint8_t level(float element, std::size_t channel) const;

 private:
  // In ascending order; the fourth channel is the alpha, if there is one.
  std::array<std::array<std::pair<float, std::uint8_t>, 256>, 4> elements_;
};

}  // namespace tundish::cli
