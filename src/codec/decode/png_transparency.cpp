#include "codec/decode/png_transparency.h"

#include <algorithm>
#include <cstring>

namespace tundish {
namespace {

constexpr std::size_t kSignatureBytes = 8;
constexpr std::size_t kFrameBytes = 12;  // per chunk: length, type, checksum

// Returns the data of the last tRNS chunk before the pixels; empty if there is none.
Bytes find_chunk(Bytes png) {
  Bytes found;
  std::size_t at = kSignatureBytes;
  while (png.size() >= at + kFrameBytes) {
    const std::size_t length = __builtin_bswap32(load<std::uint32_t>(&png[at]));
    const std::byte* const type = &png[at + 4];
    if (std::memcmp(type, "IDAT", 4) == 0 || length > png.size() - at - kFrameBytes) break;
    if (std::memcmp(type, "tRNS", 4) == 0) found = png.subspan(at + 8, length);
    at += length + kFrameBytes;
  }
  return found;
}

}  // namespace

PngTransparency read_transparency(Bytes png, int depth, int color_type) {
  PngTransparency out;
  out.alpha.fill(255);
  const Bytes chunk = find_chunk(png);
  // Pillow compares the low byte of a 16-bit number with a level, whatever the depth is.
  const auto level = [&](std::size_t i) { return std::to_integer<std::uint8_t>(chunk[2 * i + 1]); };
  if (chunk.empty()) return out;
  if (color_type == 3) {
    std::memcpy(out.alpha.data(), chunk.data(), std::min(chunk.size(), out.alpha.size()));
  } else if (color_type == 0 && chunk.size() >= 2) {
    const bool white = level(0) != 0 || chunk[0] != std::byte{0};
    const auto gray = depth == 1 ? static_cast<std::uint8_t>(white ? 255 : 0) : level(0);
    out.color = {gray, gray, gray};
  } else if (color_type == 2 && chunk.size() >= 6) {
    out.color = {level(0), level(1), level(2)};
  }
  return out;
}

}  // namespace tundish
