#include <fmt/format.h>

#include <cstring>

#include "codec/decode/orientation/png_orientation.h"
#include "codec/decode/png.h"
#include "codec/decode/png_inflate.h"

namespace tundish {
namespace {

constexpr std::size_t kSignatureBytes = 8;
constexpr std::size_t kFrameBytes = 12;  // per chunk: length, type, checksum

std::uint32_t u32(Bytes bytes, std::size_t at) {
  return __builtin_bswap32(load<std::uint32_t>(&bytes[at]));
}

bool is(Bytes type, const char* name) { return std::memcmp(type.data(), name, 4) == 0; }

// True for the pairs of depth and color type that the standard allows.
bool is_valid_kind(int depth, int color) {
  switch (color) {
    case 0:
      return depth == 1 || depth == 2 || depth == 4 || depth == 8 || depth == 16;
    case 3:
      return depth == 1 || depth == 2 || depth == 4 || depth == 8;
    case 2:
    case 4:
    case 6:
      return depth == 8 || depth == 16;
    default:
      return false;
  }
}

// Pixel size in a row from libpng (png.cpp): a palette index, 16 bits of gray, or RGB.
std::uint64_t pixel_bytes(Bytes header) {
  const auto depth = std::to_integer<int>(header[8]), color = std::to_integer<int>(header[9]);
  if (color == 3) return 1;
  return color == 0 && depth == 16 ? 2 : 3;
}

}  // namespace

std::optional<Fault> read_png_header(ImageHeader& out, Bytes bytes) {
  out = {.codec = Codec::png};
  const Fault cut_off{ErrorCode::image_cut_off, "the file ends inside its header", bytes.size()};
  std::size_t at = kSignatureBytes;
  PngKind kind;
  bool interlaced = false;
  while (true) {
    if (bytes.size() - at < 8) return cut_off;
    const std::size_t length = u32(bytes, at);
    const Bytes type = bytes.subspan(at + 4, 4);
    if (is(type, "IDAT")) {
      if (out.width != 0) {
        out.orientation = png_orientation(bytes);
        if (!interlaced) out.held_bytes = inflated_png_bytes(kind, out, bytes);
        return std::nullopt;
      }
      return Fault{ErrorCode::image_header, "pixels come before the header", at};
    }
    if (length > 0x7fffffff) {
      return Fault{ErrorCode::image_header, fmt::format("a chunk of {} bytes", length), at};
    }
    if (bytes.size() - at < length + kFrameBytes) return cut_off;
    const Bytes data = bytes.subspan(at + 8, length);
    if (at == kSignatureBytes) {
      if (!is(type, "IHDR") || length != 13) {
        return Fault{ErrorCode::image_header, "the first chunk is no IHDR of 13 bytes", at};
      }
      if (!is_valid_kind(std::to_integer<int>(data[8]), std::to_integer<int>(data[9]))) {
        return Fault{ErrorCode::image_header,
                     fmt::format("depth {} with color type {}", std::to_integer<int>(data[8]),
                                 std::to_integer<int>(data[9])),
                     at};
      }
      out.gray16 = data[9] == std::byte{0} && data[8] == std::byte{16};
      out.width = u32(data, 0);
      out.height = u32(data, 4);
      if (out.width == 0 || out.height == 0 || out.width > 0x7fffffff || out.height > 0x7fffffff) {
        return Fault{ErrorCode::image_header,
                     fmt::format("its size is {} x {}", out.width, out.height), at};
      }
      kind = {.depth = std::to_integer<int>(data[8]), .color = std::to_integer<int>(data[9])};
      interlaced = data[12] != std::byte{0};
      if (interlaced) {  // rows are complete only after the last pass
        out.held_bytes = std::uint64_t{out.width} * out.height * pixel_bytes(data);
      }
    } else if (is(type, "IEND")) {
      return Fault{ErrorCode::image_header, "the image ends before its pixels", at};
    }
    at += length + kFrameBytes;
  }
}

}  // namespace tundish
