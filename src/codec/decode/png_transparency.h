// The alpha of PNGs that have no channel for it, as Pillow's convert("RGBA") makes it of their
// tRNS chunk.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/bytes.h"

namespace tundish {

struct PngTransparency {
  std::array<std::uint8_t, 256> alpha;  // of each number of a palette
  // The pixel that is transparent where there is no palette; every other one is opaque.
  std::optional<std::array<std::uint8_t, 3>> color;
};

// `depth` and `color_type` are those of IHDR. Takes any bytes: without a chunk of the right length
// everything is opaque.
PngTransparency read_transparency(Bytes png, int depth, int color_type);

}  // namespace tundish
