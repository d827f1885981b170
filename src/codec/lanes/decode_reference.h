// The twin of the path from units to pixels: coefficients to an image, one pixel after the other.
#pragma once

#include <cstdint>
#include <vector>

#include "codec/lanes/coefficients.h"

namespace tundish::lanes {

// Interleaved RGB, width x height.
std::vector<std::uint8_t> decode_reference(const Coefficients& image);

}  // namespace tundish::lanes
