// Reads the blocks of a GIF up to the pixels of its first frame, as Pillow does.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "codec/decode/gif/gif.h"

namespace tundish {
namespace {

constexpr std::size_t kScreenBytes = 13, kFrameBytes = 9;
constexpr std::uint8_t kControl = 249, kComment = 254, kApplication = 255;

struct Walk {
  GifLayout& out;
  Bytes bytes;
  std::size_t at = 0;
  bool has_global_palette = false;  // other than the gray levels
  bool has_palette = false;
};

Fault cut_off(const Walk& walk) {
  return {ErrorCode::image_cut_off, "the file ends before the first frame", walk.bytes.size()};
}

int u16(Bytes bytes, std::size_t at) { return load<std::uint16_t>(&bytes[at]); }
unsigned u8(Bytes bytes, std::size_t at) { return std::to_integer<unsigned>(bytes[at]); }

// Returns the next data block; empty at the end of the blocks or of the file.
Bytes next_block(Walk& walk) {
  if (walk.at >= walk.bytes.size()) return {};
  const std::size_t length = u8(walk.bytes, walk.at++);
  const Bytes block = walk.bytes.subspan(walk.at, std::min(length, walk.bytes.size() - walk.at));
  walk.at += block.size();
  return block;
}

void skip_blocks(Walk& walk) {
  while (!next_block(walk).empty()) {
  }
}

// A palette that is just the gray levels counts as none: indices are then levels.
bool read_palette(Walk& walk, unsigned flags, bool& is_needed) {
  const std::size_t length = std::size_t{3} << ((flags & 7) + 1);
  if (walk.bytes.size() - walk.at < length) return false;
  const Bytes entries = walk.bytes.subspan(walk.at, length);
  walk.at += length;
  is_needed = false;
  walk.out.palette = {};
  for (std::size_t i = 0; i < length / 3; ++i) {
    for (std::size_t c = 0; c < 3; ++c) {
      walk.out.palette[i][c] = std::to_integer<std::uint8_t>(entries[3 * i + c]);
      is_needed |= walk.out.palette[i][c] != i;
    }
  }
  return true;
}

// Reads the extension after '!'.
std::optional<Fault> read_extension(Walk& walk) {
  if (walk.at >= walk.bytes.size()) return cut_off(walk);
  const unsigned label = u8(walk.bytes, walk.at++);
  Bytes block = next_block(walk);
  if (label == kComment) {
    if (!block.empty()) skip_blocks(walk);
    return std::nullopt;
  }
  if (label == kControl && !block.empty()) {
    const bool has_transparent = (u8(block, 0) & 1) != 0;
    if (block.size() < (has_transparent ? 4u : 3u)) {
      return Fault{ErrorCode::image_header, "a graphic control block of too few bytes", walk.at};
    }
    if (has_transparent) walk.out.transparent = std::to_integer<std::uint8_t>(block[3]);
  }
  constexpr std::string_view kLoops = "NETSCAPE2.0";
  if (label == kApplication && block.size() >= kLoops.size() &&
      std::memcmp(block.data(), kLoops.data(), kLoops.size()) == 0) {
    block = next_block(walk);
  }
  skip_blocks(walk);  // even after an empty block, like Pillow
  return std::nullopt;
}

// Reads the frame after ',' and moves to the first block of pixels.
std::optional<Fault> read_frame(Walk& walk) {
  if (walk.bytes.size() - walk.at < kFrameBytes) return cut_off(walk);
  GifLayout& out = walk.out;
  const Bytes head = walk.bytes.subspan(walk.at, kFrameBytes);
  out.frame = {u16(head, 0), u16(head, 2), u16(head, 4), u16(head, 6)};
  if (out.frame.width == 0 || out.frame.height == 0) {
    return Fault{
        ErrorCode::image_header,
        fmt::format("its first frame has {} x {} pixels", out.frame.width, out.frame.height),
        walk.at};
  }
  out.screen = {std::max(out.screen.width, out.frame.x + out.frame.width),
                std::max(out.screen.height, out.frame.y + out.frame.height)};
  const unsigned flags = u8(head, 8);
  out.is_interlaced = (flags & 64) != 0;
  walk.at += kFrameBytes;
  const auto global_palette = out.palette;
  walk.has_palette = walk.has_global_palette;
  if ((flags & 128) != 0 && !read_palette(walk, flags, walk.has_palette)) return cut_off(walk);
  if (!walk.has_palette && walk.has_global_palette) {  // in Pillow, grays do not replace colors
    out.palette = global_palette;
    walk.has_palette = true;
  }
  if (walk.at >= walk.bytes.size()) return cut_off(walk);
  out.code_bits = static_cast<int>(u8(walk.bytes, walk.at));
  if (out.code_bits > 12) {
    return Fault{ErrorCode::image_header, fmt::format("LZW codes of {} bits", out.code_bits),
                 walk.at};
  }
  out.offset = ++walk.at;
  return std::nullopt;
}

}  // namespace

std::optional<Fault> read_gif_layout(GifLayout& out, Bytes bytes) {
  out = {};
  Walk walk{.out = out, .bytes = bytes};
  if (bytes.size() < kScreenBytes) return cut_off(walk);
  out.screen = {u16(bytes, 6), u16(bytes, 8)};
  const unsigned flags = u8(bytes, 10);
  walk.at = kScreenBytes;
  if ((flags & 128) != 0 && !read_palette(walk, flags, walk.has_global_palette)) {
    return cut_off(walk);
  }
  while (true) {
    if (walk.at >= bytes.size()) return cut_off(walk);
    const unsigned kind = u8(bytes, walk.at++);
    if (kind == ';') return Fault{ErrorCode::image_header, "it has no frame", walk.at - 1};
    if (kind == '!') {
      if (auto fault = read_extension(walk)) return fault;
    } else if (kind == ',') {
      if (auto fault = read_frame(walk)) return fault;
      break;
    }  // skips other bytes
  }
  if (walk.has_palette) return std::nullopt;
  for (std::size_t i = 0; i < 256; ++i) out.palette[i].fill(static_cast<std::uint8_t>(i));
  return std::nullopt;
}

std::optional<Fault> read_gif_header(ImageHeader& out, Bytes bytes) {
  out = {.codec = Codec::gif};
  GifLayout layout;
  if (auto fault = read_gif_layout(layout, bytes)) return fault;
  out.width = static_cast<std::uint32_t>(layout.screen.width);
  out.height = static_cast<std::uint32_t>(layout.screen.height);
  if (layout.is_interlaced) {
    out.held_bytes = static_cast<std::uint64_t>(layout.frame.width) *
                     static_cast<std::uint64_t>(layout.frame.height);
  }
  return std::nullopt;
}

}  // namespace tundish
