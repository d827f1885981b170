// Encodes pixels as JPEG.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/image.h"

namespace tundish::cli {

struct JpegCoding {
  int quality = 90;
  bool gray = false;
  int h = 1, v = 1;  // pixels per chroma sample
};

// `rgb` contains rows without gaps. Throws std::bad_alloc.
std::vector<std::byte> encode_jpeg(std::span<const std::uint8_t> rgb, Size size,
                                   const JpegCoding& coding);

}  // namespace tundish::cli
