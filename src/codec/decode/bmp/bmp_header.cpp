#include <fmt/format.h>

#include <algorithm>

#include "codec/decode/bmp/bmp.h"

namespace tundish {
namespace {

constexpr std::size_t kFileHeader = 14;
constexpr std::uint32_t kRaw = 0, kRuns8 = 1, kRuns4 = 2, kBitFields = 3;

struct Info {
  std::size_t header_bytes = 0;
  std::uint32_t bits = 0, compression = 0;
  std::uint64_t colors = 0;  // palette size
  std::size_t entry_bytes = 0;
  std::array<std::uint32_t, 4> mask{};
  std::size_t at = 0;  // end of the header and its masks
};

std::uint32_t u16(Bytes bytes, std::size_t at) { return load<std::uint16_t>(&bytes[at]); }
std::uint32_t u32(Bytes bytes, std::size_t at) { return load<std::uint32_t>(&bytes[at]); }

Fault unsupported(std::string what) { return {ErrorCode::codec_unsupported, std::move(what)}; }
Fault cut_off(Bytes bytes) {
  return {ErrorCode::image_cut_off, "the file ends inside its header", bytes.size()};
}

std::optional<Fault> read_masks(Info& info, Bytes bytes) {
  std::size_t from = kFileHeader + 40, count = info.header_bytes >= 56 ? 4 : 3;
  if (info.header_bytes < 52) {  // three masks follow the header
    info.at += 12;
    if (bytes.size() < info.at) return cut_off(bytes);
    count = 3;
  }
  for (std::size_t i = 0; i < count; ++i) info.mask[i] = u32(bytes, from + 4 * i);
  return std::nullopt;
}

std::optional<Fault> read_info(BmpLayout& out, Info& info, Bytes bytes) {
  if (bytes.size() < kFileHeader + 4) return cut_off(bytes);
  const std::uint32_t length = u32(bytes, kFileHeader);
  constexpr std::uint32_t kKnown[] = {12, 40, 52, 56, 64, 108, 124};
  if (std::find(std::begin(kKnown), std::end(kKnown), length) == std::end(kKnown)) {
    return unsupported(fmt::format("BMP with a header of {} bytes", length));
  }
  if (bytes.size() < kFileHeader + length) return cut_off(bytes);
  info.header_bytes = length;
  info.at = kFileHeader + length;
  if (length == 12) {
    out.width = u16(bytes, 18);
    out.height = u16(bytes, 20);
    info.bits = u16(bytes, 24);
    info.compression = kRaw;
    info.entry_bytes = 3;
  } else {
    out.width = u32(bytes, 18);
    out.height = u32(bytes, 22);
    out.is_top_down = out.height >> 24 == 0xff;
    if (out.is_top_down) out.height = 0u - out.height;
    info.bits = u16(bytes, 28);
    info.compression = u32(bytes, 30);
    info.colors = u32(bytes, 46);
    info.entry_bytes = 4;
  }
  if (info.compression == kBitFields) return read_masks(info, bytes);
  return std::nullopt;
}

// Sets the layout of pixels with bit fields. Supports exactly the layouts that Pillow supports.
std::optional<Fault> set_fields(BmpLayout& out, const Info& info) {
  struct Known {
    std::uint32_t bits;
    std::array<std::uint32_t, 4> mask;
    std::array<int, 4> channel;
  };
  static constexpr Known kKnown[] = {
      {32, {0xff0000, 0xff00, 0xff, 0}, {2, 1, 0, -1}},
      {32, {0xff000000, 0xff0000, 0xff00, 0}, {3, 2, 1, -1}},
      {32, {0xff000000, 0xff00, 0xff, 0}, {3, 1, 0, -1}},
      {32, {0xff000000, 0xff0000, 0xff00, 0xff}, {3, 2, 1, 0}},
      {32, {0xff, 0xff00, 0xff0000, 0xff000000}, {0, 1, 2, 3}},
      {32, {0xff0000, 0xff00, 0xff, 0xff000000}, {2, 1, 0, 3}},
      {32, {0xff000000, 0xff00, 0xff, 0xff0000}, {3, 1, 0, 2}},
      {32, {0, 0, 0, 0}, {2, 1, 0, 3}},
      {24, {0xff0000, 0xff00, 0xff, 0}, {2, 1, 0, -1}},
      {16, {0xf800, 0x7e0, 0x1f, 0}, {}},
      {16, {0x7c00, 0x3e0, 0x1f, 0}, {}},
  };
  std::array<std::uint32_t, 4> mask = info.mask;
  if (info.bits != 32) mask[3] = 0;  // ignored
  for (const Known& known : kKnown) {
    if (known.bits != info.bits || known.mask != mask) continue;
    if (info.bits == 16) {
      out.pixels = mask[0] == 0xf800 ? BmpPixels::rgb565 : BmpPixels::rgb555;
    } else {
      out.pixels = info.bits == 24 ? BmpPixels::bytes3 : BmpPixels::bytes4;
      out.channel = known.channel;
    }
    return std::nullopt;
  }
  return unsupported(fmt::format("BMP of {} bits with the bit fields {:x}, {:x}, {:x}, {:x}",
                                 info.bits, mask[0], mask[1], mask[2], mask[3]));
}

std::optional<Fault> set_pixels(BmpLayout& out, const Info& info) {
  switch (info.bits) {
    case 1:
      out.pixels = BmpPixels::palette1;
      break;
    case 4:
      out.pixels = BmpPixels::palette4;
      break;
    case 8:
      out.pixels = BmpPixels::palette8;
      break;
    case 16:
      out.pixels = BmpPixels::rgb555;
      break;
    case 24:
      out.pixels = BmpPixels::bytes3;
      break;
    case 32:
      out.pixels = BmpPixels::bytes4;
      break;
    default:
      return unsupported(fmt::format("BMP of {} bits per pixel", info.bits));
  }
  if (info.compression == kRaw) return std::nullopt;
  if (info.compression == kBitFields) return set_fields(out, info);
  if ((info.compression == kRuns8 || info.compression == kRuns4) && info.bits <= 8) {
    out.run_bits = info.compression == kRuns4 ? 4 : 8;
    return std::nullopt;
  }
  return unsupported(
      fmt::format("BMP of {} bits with compression {}", info.bits, info.compression));
}

// Reads the palette at info.at. Like Pillow, ignores a palette that is just the gray levels.
std::optional<Fault> read_palette(BmpLayout& out, Info& info, Bytes bytes) {
  if (info.colors == 0 || info.colors > 65536) {
    return Fault{ErrorCode::image_header, fmt::format("a palette of {} colors", info.colors),
                 info.at};
  }
  const std::size_t first = std::min(info.at, bytes.size());
  const std::size_t wanted = static_cast<std::size_t>(info.colors) * info.entry_bytes;
  const Bytes entries = bytes.subspan(first, std::min(wanted, bytes.size() - first));
  bool is_gray = true;
  // After 256 colors, it only matters whether all colors are grays.
  for (std::size_t i = 0; i < info.colors && (i < 256 || is_gray); ++i) {
    const auto level = static_cast<std::uint8_t>(info.colors == 2 && i == 1 ? 255 : i);
    for (std::size_t c = 0; c < 3; ++c) {
      const std::size_t at = i * info.entry_bytes + 2 - c;  // blue comes first
      const bool there = at < entries.size();
      const auto value = there ? std::to_integer<std::uint8_t>(entries[at]) : std::uint8_t{0};
      is_gray = is_gray && there && value == level;
      // The last entry of a truncated palette counts only if it is complete.
      if (i < 256 && (i + 1) * info.entry_bytes <= entries.size()) out.palette[i][c] = value;
    }
  }
  info.at = first + entries.size();
  if (is_gray) {
    out.pixels = info.colors == 2 ? BmpPixels::bits : BmpPixels::levels;
  } else if (entries.size() / info.entry_bytes > 256) {
    return Fault{ErrorCode::image_header, fmt::format("a palette of {} colors", info.colors),
                 info.at};
  }
  return std::nullopt;
}

std::uint64_t pixel_bits(BmpPixels pixels) {
  switch (pixels) {
    case BmpPixels::bits:
    case BmpPixels::palette1:
      return 1;
    case BmpPixels::palette4:
      return 4;
    case BmpPixels::levels:
    case BmpPixels::palette8:
      return 8;
    case BmpPixels::rgb555:
    case BmpPixels::rgb565:
      return 16;
    case BmpPixels::bytes3:
      return 24;
    default:
      return 32;
  }
}

}  // namespace

std::optional<Fault> read_bmp_layout(BmpLayout& out, Bytes bytes) {
  out = {};
  Info info;
  if (auto fault = read_info(out, info, bytes)) return fault;
  if (auto fault = set_pixels(out, info)) return fault;
  const bool has_palette = info.bits <= 8;
  if (info.colors == 0) info.colors = has_palette ? std::uint64_t{1} << info.bits : 1;
  out.offset = u32(bytes, 10);
  if (has_palette) {
    if (out.offset == kFileHeader + info.header_bytes) {  // the offset ignores the palette
      out.offset += info.colors * info.entry_bytes;
    }
    if (auto fault = read_palette(out, info, bytes)) return fault;
  }
  if (out.offset == 0) out.offset = info.at;
  if (out.run_bits != 0) {
    if (out.pixels == BmpPixels::bits)
      return unsupported("run-length coded BMP of black and white");
    if (out.pixels != BmpPixels::levels) out.pixels = BmpPixels::palette8;
    return std::nullopt;
  }
  out.stride = (std::uint64_t{out.width} * info.bits + 31) / 32 * 4;
  out.row_bytes = (std::uint64_t{out.width} * pixel_bits(out.pixels) + 7) / 8;
  if (out.row_bytes <= out.stride) return std::nullopt;
  return unsupported("BMP of few bits per pixel with a palette of grays, which Pillow refuses");
}

std::optional<Fault> read_bmp_header(ImageHeader& out, Bytes bytes) {
  out = {.codec = Codec::bmp};
  BmpLayout layout;
  if (auto fault = read_bmp_layout(layout, bytes)) return fault;
  out.width = layout.width;
  out.height = layout.height;
  if (layout.run_bits != 0) out.held_bytes = std::uint64_t{out.width} * out.height;
  return std::nullopt;
}

}  // namespace tundish
