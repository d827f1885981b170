// Makes images with alpha displayable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tundish::cli {

// Composites interleaved RGBA over white and returns RGB.
inline std::vector<std::uint8_t> over_white(std::span<const std::uint8_t> rgba) {
  std::vector<std::uint8_t> out;
  out.reserve(rgba.size() / 4 * 3);
  for (std::size_t i = 0; i + 4 <= rgba.size(); i += 4) {
    const unsigned alpha = rgba[i + 3];
    for (std::size_t c = 0; c < 3; ++c) {
      out.push_back(
          static_cast<std::uint8_t>((rgba[i + c] * alpha + 255 * (255 - alpha) + 127) / 255));
    }
  }
  return out;
}

}  // namespace tundish::cli
