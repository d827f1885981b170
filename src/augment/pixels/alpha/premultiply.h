// Applies the arithmetic of premultiply_ops.h to whole images.
#pragma once

#include <cstdint>
#include <span>

namespace tundish {

// Both spans are interleaved pixels of three bytes; the three bytes of an alpha pixel are equal.
void multiply_by_alpha(std::span<std::uint8_t> rgb, std::span<const std::uint8_t> alpha);
void divide_by_alpha(std::span<std::uint8_t> rgb, std::span<const std::uint8_t> alpha);

}  // namespace tundish
