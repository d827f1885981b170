// Where an image that the CPU decoded goes in a batch on the GPU: its number in the batch,
// and whether it is still to be mirrored from left to right.
#pragma once

#include <cstdint>

namespace tundish::cuda {

using Target = std::uint32_t;
inline constexpr Target kMirrored = Target{1} << 31;

}  // namespace tundish::cuda
