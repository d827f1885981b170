// Parses the chunks of a WebP file by the rules of libwebp's demuxer, which Pillow uses.
#include <fmt/format.h>
#include <webp/decode.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "codec/decode/orientation/exif.h"
#include "codec/decode/webp/webp.h"

namespace tundish {
namespace {

constexpr std::size_t kFileHeader = 12;  // RIFF, length, WEBP
constexpr std::size_t kChunkHeader = 8;
constexpr std::size_t kFrameHeader = 16;  // of ANMF, before the frame's chunks
constexpr unsigned kAnimationFlag = 2, kAlphaFlag = 16;

std::uint32_t u24(Bytes bytes, std::size_t at) {
  return std::to_integer<std::uint32_t>(bytes[at]) |
         std::to_integer<std::uint32_t>(bytes[at + 1]) << 8 |
         std::to_integer<std::uint32_t>(bytes[at + 2]) << 16;
}

struct Walk {
  WebpFrame& out;
  Bytes file;
  std::size_t at = kFileHeader;
  std::size_t alpha = 0;  // offset of the first frame's ALPH chunk; 0: none
  unsigned flags = 0;
  bool is_extended = false;
  bool has_animation_chunk = false;
  bool is_inside_frame = false;  // in an animation's frame, before its pixels
  bool has_frame = false;
  bool has_exif = false, has_xmp = false;
  std::uint8_t exif = 0, xmp = 0;  // orientations; 0: none
};

Fault wrong(const Walk& walk, std::string reason) {
  return {ErrorCode::image_header, std::move(reason), walk.at};
}

std::optional<Fault> read_extended(Walk& walk, Bytes data) {
  if (data.size() < 10) return wrong(walk, "a VP8X chunk of too few bytes");
  walk.is_extended = true;
  walk.flags = std::to_integer<unsigned>(data[0]);
  const std::uint64_t width = u24(data, 4) + 1, height = u24(data, 7) + 1;
  if (width * height >> 32 != 0) {
    return wrong(walk, fmt::format("a canvas of {} x {} pixels", width, height));
  }
  walk.out.canvas = {static_cast<int>(width), static_cast<int>(height)};
  return std::nullopt;
}

// Reads the pixels of the first frame: the chunk at walk.at, `bytes` long including its header.
std::optional<Fault> read_pixels(Walk& walk, std::size_t bytes, bool is_lossless) {
  if (walk.has_frame) return std::nullopt;
  if (is_lossless && walk.alpha != 0) return wrong(walk, "an ALPH chunk before a lossless frame");
  WebPBitstreamFeatures features;
  const Bytes chunk = walk.file.subspan(walk.at, bytes);
  const VP8StatusCode status =
      WebPGetFeatures(reinterpret_cast<const std::uint8_t*>(chunk.data()), chunk.size(), &features);
  if (status != VP8_STATUS_OK) return wrong(walk, "the header of the frame makes no sense");
  WebpFrame& out = walk.out;
  const Size size{features.width, features.height};
  if (!walk.is_extended) out.canvas = size;
  if (walk.is_inside_frame) {
    if (size != Size{out.place.width, out.place.height}) {
      return wrong(walk, fmt::format("a frame of {} x {} pixels where {} x {} were announced",
                                     size.width, size.height, out.place.width, out.place.height));
    }
  } else {
    out.place = {0, 0, size.width, size.height};
    if (size != out.canvas) {
      return wrong(walk, fmt::format("{} x {} pixels on a canvas of {} x {}", size.width,
                                     size.height, out.canvas.width, out.canvas.height));
    }
  }
  out.is_lossless = is_lossless;
  out.has_alpha = walk.is_extended ? (walk.flags & kAlphaFlag) != 0 : features.has_alpha != 0;
  // Ignores an alpha plane that no flag announces.
  out.has_alpha_plane = walk.alpha != 0 && out.has_alpha;
  const std::size_t first = out.has_alpha_plane ? walk.alpha : walk.at;
  out.coded = walk.file.subspan(first, walk.at + bytes - first);
  walk.has_frame = true;
  walk.is_inside_frame = false;
  return std::nullopt;
}

std::optional<Fault> read_frame_header(Walk& walk, Bytes data) {
  if (!walk.has_animation_chunk) return wrong(walk, "a frame before the ANIM chunk");
  if (data.size() < kFrameHeader) return wrong(walk, "an ANMF chunk of too few bytes");
  if (walk.has_frame) return std::nullopt;
  const std::int64_t x = 2 * std::int64_t{u24(data, 0)}, y = 2 * std::int64_t{u24(data, 3)};
  const std::int64_t width = u24(data, 6) + 1, height = u24(data, 9) + 1;
  if (x + width > walk.out.canvas.width || y + height > walk.out.canvas.height) {
    return wrong(walk, fmt::format("a frame of {} x {} pixels at {}, {} is not on the canvas",
                                   width, height, x, y));
  }
  walk.out.place = {static_cast<int>(x), static_cast<int>(y), static_cast<int>(width),
                    static_cast<int>(height)};
  walk.is_inside_frame = true;
  return std::nullopt;
}

// Reads the chunk at walk.at and moves walk.at to the next.
std::optional<Fault> read_chunk(Walk& walk, std::string_view type, Bytes data, std::size_t padded) {
  const bool is_lossless = type == "VP8L";
  std::optional<Fault> fault;
  if (type == "VP8 " || is_lossless || type == "ALPH") {
    const bool is_animation = (walk.flags & kAnimationFlag) != 0 || walk.has_animation_chunk;
    if (is_animation && !walk.is_inside_frame && !walk.has_frame) {
      return wrong(walk, "pixels outside the frames of an animation");
    }
    if (type != "ALPH") {
      fault = read_pixels(walk, kChunkHeader + data.size(), is_lossless);
    } else if (!walk.has_frame && walk.alpha == 0) {
      walk.alpha = walk.at;
    }
  } else if (type == "ANIM") {
    if (data.size() < 6) return wrong(walk, "an ANIM chunk of too few bytes");
    walk.has_animation_chunk = true;
  } else if (type == "ANMF" && walk.is_extended) {
    if ((fault = read_frame_header(walk, data))) return fault;
    walk.at += kChunkHeader + kFrameHeader;  // the frame's chunks follow
    return std::nullopt;
  } else if (type == "EXIF" && !walk.has_exif) {
    constexpr std::string_view kName("Exif\0\0", 6);  // some writers add JPEG's prefix
    const bool marked =
        data.size() >= kName.size() && std::memcmp(data.data(), kName.data(), kName.size()) == 0;
    walk.exif = exif_orientation(marked ? data.subspan(kName.size()) : data).value_or(0);
    walk.has_exif = true;
  } else if (type == "XMP " && !walk.has_xmp) {
    walk.xmp = xmp_orientation(data).value_or(0);
    walk.has_xmp = true;
  }
  walk.at += kChunkHeader + padded;
  return fault;
}

}  // namespace

std::optional<Fault> find_webp_frame(WebpFrame& out, Bytes bytes) {
  out = {};
  const Fault cut_off{ErrorCode::image_cut_off, "the file ends before its last chunk",
                      bytes.size()};
  if (bytes.size() < kFileHeader) return cut_off;
  const std::uint64_t end = std::uint64_t{load<std::uint32_t>(&bytes[4])} + kChunkHeader;
  if (end > bytes.size()) return cut_off;
  Walk walk{.out = out, .file = bytes.first(std::max<std::size_t>(end, kFileHeader))};
  while (walk.file.size() - walk.at >= kChunkHeader) {
    const std::string_view type(reinterpret_cast<const char*>(&bytes[walk.at]), 4);
    const std::uint64_t length = load<std::uint32_t>(&bytes[walk.at + 4]);
    const std::uint64_t padded = length + (length & 1);
    const std::size_t left = walk.file.size() - walk.at - kChunkHeader;
    if (length > left || padded > left) return cut_off;
    const Bytes data = walk.file.subspan(walk.at + kChunkHeader, length);
    std::optional<Fault> fault;
    if (walk.at == kFileHeader && type == "VP8X") {
      fault = read_extended(walk, data);
      walk.at += kChunkHeader + padded;
    } else if (walk.at == kFileHeader && type != "VP8 " && type != "VP8L") {
      fault = wrong(walk, "the first chunk is none of VP8, VP8L and VP8X");
    } else if (type == "VP8X") {
      fault = wrong(walk, "a second VP8X chunk");
    } else {
      fault = read_chunk(walk, type, data, padded);
    }
    if (fault) return fault;
    if (!walk.is_extended) break;  // ignores data after the one chunk of a simple file
  }
  if (const std::uint8_t found = walk.exif != 0 ? walk.exif : walk.xmp) out.orientation = found;
  if (walk.has_frame) return std::nullopt;
  return wrong(walk, "the file has no frame");
}

std::optional<Fault> read_webp_header(ImageHeader& out, Bytes bytes) {
  out = {.codec = Codec::webp};
  WebpFrame frame;
  if (auto fault = find_webp_frame(frame, bytes)) return fault;
  out.width = static_cast<std::uint32_t>(frame.canvas.width);
  out.height = static_cast<std::uint32_t>(frame.canvas.height);
  out.orientation = frame.orientation;
  const std::uint64_t pixels = static_cast<std::uint64_t>(frame.place.width) *
                               static_cast<std::uint64_t>(frame.place.height);
  out.held_bytes = (frame.has_alpha ? 4 : 3) * pixels + webp_library_bytes(frame);
  return std::nullopt;
}

}  // namespace tundish
