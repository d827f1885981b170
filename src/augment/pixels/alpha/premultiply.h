// The arithmetic of premultiply_ops.h on whole images.
#pragma once

#include <cstdint>
#include <span>

namespace tundish {

// Both are interleaved pixels of three bytes; those of `alpha` are equal.
void multiply_by_alpha(std::span<std::uint8_t> rgb, std::span<const std::uint8_t> alpha);
void divide_by_alpha(std::span<std::uint8_t> rgb, std::span<const std::uint8_t> alpha);

}  // namespace tundish
