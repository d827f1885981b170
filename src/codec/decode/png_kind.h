// The pixel format of a PNG, from its IHDR.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tundish {

struct PngKind {
  int depth = 8;            // bits per sample
  int color = 2;            // 0 gray, 2 RGB, 3 palette, 4 gray and alpha, 6 RGB and alpha
  bool keep_alpha = false;  // for color types 4 and 6
};

constexpr std::size_t png_samples(const PngKind& kind) {
  return kind.color == 2 ? 3 : kind.color == 4 ? 2 : kind.color == 6 ? 4 : 1;
}

// Returns the filters' distance between the same sample of adjacent pixels, in bytes: at least 1.
constexpr std::size_t png_pixel_bytes(const PngKind& kind) {
  const std::size_t bits = png_samples(kind) * static_cast<std::size_t>(kind.depth);
  return bits < 8 ? 1 : bits / 8;
}

// Returns the bytes of a stored row, without its filter byte.
constexpr std::uint64_t png_row_bytes(const PngKind& kind, std::uint32_t width) {
  return (std::uint64_t{width} * png_samples(kind) * static_cast<std::uint64_t>(kind.depth) + 7) /
         8;
}

}  // namespace tundish
