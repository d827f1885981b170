// Alpha of PNGs without an alpha channel, derived from the tRNS chunk as in Pillow's
// convert("RGBA").
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/bytes.h"

namespace tundish {

struct PngTransparency {
  std::array<std::uint8_t, 256> alpha;  // alpha of each palette entry
  // The transparent color if there is no palette; all other colors are opaque.
  std::optional<std::array<std::uint8_t, 3>> color;
};

// `depth` and `color_type` are from IHDR. Accepts any bytes: without a chunk of the right length
// everything is opaque.
PngTransparency read_transparency(Bytes png, int depth, int color_type);

}  // namespace tundish
