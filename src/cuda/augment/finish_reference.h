// Reference implementation of finish.cu.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>

#include "augment/pixel_table.h"
#include "base/image.h"
#include "cuda/augment/target.h"

namespace tundish::cuda {

inline void finish_reference(std::byte* out, const std::uint8_t* levels,
                             std::span<const Target> targets, Size size, const PixelTable& table,
                             bool channels_first) {
  const auto width = static_cast<std::size_t>(size.width);
  const auto height = static_cast<std::size_t>(size.height);
  const std::size_t bytes = dtype_bytes(table.dtype);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const std::size_t first = (targets[i] & ~kMirrored) * 3 * width * height;
    for (std::size_t y = 0; y < height; ++y) {
      for (std::size_t x = 0; x < width; ++x) {
        const std::size_t from_x = targets[i] & kMirrored ? width - 1 - x : x;
        for (std::size_t c = 0; c < 3; ++c) {
          const std::uint8_t level = levels[((i * height + y) * width + from_x) * 3 + c];
          const std::size_t at =
              channels_first ? (c * height + y) * width + x : (y * width + x) * 3 + c;
          std::memcpy(out + (first + at) * bytes, &table.value[c][level], bytes);
        }
      }
    }
  }
}

}  // namespace tundish::cuda
