// A window of the result whose elements are overwritten after ToDtype and Normalize: what
// RandomErasing does when it follows them.
#pragma once

#include <array>
#include <cstdint>

#include "base/image.h"

namespace tundish {

struct Erasure {
  Window window;                 // in the coordinates of the result; a crop may have cut a part off
  bool random = false;           // each element is a normal number of its own
  std::array<float, 3> value{};  // of each channel, otherwise
  std::uint64_t key = 0;         // of the normal numbers (augment/pixels/noise/normal_ops.h)
  bool operator==(const Erasure&) const = default;
};

}  // namespace tundish
