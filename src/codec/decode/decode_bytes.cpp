#include "codec/decode/decode.h"

namespace tundish {
namespace {

constexpr std::uint64_t kStructs = 256 << 10;  // structs of libjpeg and libpng, with zlib's window

// libjpeg: samples before and after upsampling, at most 4 components of 4 x 8 rows with context,
// and a strip of up to 4 bytes per pixel.
constexpr std::uint64_t kJpegPerColumn = 160 + 4 * kRowsPerStrip;
// libpng: three rows of up to 8 bytes per pixel, and a strip with its alpha.
constexpr std::uint64_t kPngPerColumn = 32 + 4 * kRowsPerStrip;
// lanes: a row of units with the rows kept before it, three components, and a strip of RGB.
constexpr std::uint64_t kLanesPerColumn = 3 * (64 + 8) + 3 * 16;
constexpr std::uint64_t kLanesMargin = 512;  // columns: whole units on both sides, alignment

}  // namespace

std::uint64_t decode_bytes(const ImageHeader& header, const Window& window) {
  const auto wide = static_cast<std::uint64_t>(window.width);
  switch (header.codec) {
    case Codec::jpeg:
      return kStructs + header.held_bytes + kJpegPerColumn * header.width;
    case Codec::png:
      // An interlaced RGBA image holds one byte per pixel more than RGB.
      return kStructs + header.held_bytes + (header.keep_alpha ? header.held_bytes / 3 : 0) +
             kPngPerColumn * header.width;
    case Codec::lanes: {  // buffers grow by an extra quarter, for later images
      const std::uint64_t units = std::uint64_t{header.width / 64 + 1} * (header.height / 64 + 2);
      return kLanesPerColumn * (wide + kLanesMargin) * 5 / 4 + 8 * units;
    }
    case Codec::webp:  // holds the whole frame
      return kStructs + header.held_bytes + 4 * kRowsPerStrip * wide;
    case Codec::bmp:  // holds all pixels decoded from runs
      return header.held_bytes + 4 * kRowsPerStrip * wide;
    case Codec::gif:  // holds the whole frame if interlaced
      return kStructs + header.held_bytes + header.width + 4 * kRowsPerStrip * wide;
    default:
      return 4 * kRowsPerStrip * wide;
  }
}

}  // namespace tundish
