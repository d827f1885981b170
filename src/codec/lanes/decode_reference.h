// Reference implementation of the path from coefficients to pixels, one pixel at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "codec/lanes/coefficients.h"

namespace tundish::lanes {

// Returns interleaved RGB, width x height.
std::vector<std::uint8_t> decode_reference(const Coefficients& image);

}  // namespace tundish::lanes
