// A window of the result whose elements are overwritten after ToDtype and Normalize. RandomErasing
// produces an Erasure if it follows ToDtype and Normalize.
#pragma once

#include <array>
#include <cstdint>

#include "base/image.h"

namespace tundish {

struct Erasure {
  Window window;                 // in the coordinates of the result; a crop may have cut it
  bool random = false;           // every element is a separate normal number
  std::array<float, 3> value{};  // per channel; used if not random
  std::uint64_t key = 0;         // key of the normal numbers (augment/pixels/noise/normal_ops.h)
  bool operator==(const Erasure&) const = default;
};

}  // namespace tundish
