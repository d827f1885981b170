// Destination of an image that the CPU decoded: its index in the batch on the GPU,
// and whether it still needs to be mirrored horizontally.
#pragma once

#include <cstdint>

namespace tundish::cuda {

using Target = std::uint32_t;
inline constexpr Target kMirrored = Target{1} << 31;

}  // namespace tundish::cuda
