#include "codec/decode/bmp/bmp.h"

#include <fmt/format.h>

#include <algorithm>

namespace tundish {
namespace {

std::uint8_t five(unsigned value) { return static_cast<std::uint8_t>((value & 31) * 255 / 31); }
std::uint8_t six(unsigned value) { return static_cast<std::uint8_t>((value & 63) * 255 / 63); }

// Reads pixels x .. x + width - 1 of a row.
class RowReader {
 public:
  RowReader(const BmpLayout& layout, std::size_t x, std::size_t width)
      : layout_(layout), x_(x), width_(width) {}

  void read(std::uint8_t* rgb, std::uint8_t* alpha, const std::uint8_t* row) const {
    for (std::size_t i = 0; i < width_; ++i, rgb += 3) pixel(rgb, row, x_ + i);
    if (alpha != nullptr) {
      const auto channel = static_cast<std::size_t>(layout_.channel[3]);
      for (std::size_t i = 0; i < width_; ++i) alpha[i] = row[4 * (x_ + i) + channel];
    }
  }

 private:
  void pixel(std::uint8_t* to, const std::uint8_t* row, std::size_t x) const {
    switch (layout_.pixels) {
      case BmpPixels::bits:
        return gray(to, (row[x / 8] >> (7 - x % 8) & 1) != 0 ? 255 : 0);
      case BmpPixels::levels:
        return gray(to, row[x]);
      case BmpPixels::palette1:
        return color(to, row[x / 8] >> (7 - x % 8) & 1);
      case BmpPixels::palette4:
        return color(to, row[x / 2] >> (x % 2 == 0 ? 4 : 0) & 15);
      case BmpPixels::palette8:
        return color(to, row[x]);
      case BmpPixels::rgb555:
      case BmpPixels::rgb565: {
        const unsigned word = row[2 * x] | unsigned{row[2 * x + 1]} << 8;
        const bool green6 = layout_.pixels == BmpPixels::rgb565;
        to[0] = five(green6 ? word >> 11 : word >> 10);
        to[1] = green6 ? six(word >> 5) : five(word >> 5);
        to[2] = five(word);
        return;
      }
      case BmpPixels::bytes3:
      case BmpPixels::bytes4: {
        const std::uint8_t* from = row + (layout_.pixels == BmpPixels::bytes3 ? 3 : 4) * x;
        for (std::size_t c = 0; c < 3; ++c) to[c] = from[layout_.channel[c]];
        return;
      }
    }
  }
  static void gray(std::uint8_t* to, int level) {
    to[0] = to[1] = to[2] = static_cast<std::uint8_t>(level);
  }
  void color(std::uint8_t* to, int number) const {
    std::copy_n(layout_.palette[static_cast<std::size_t>(number)].begin(), 3, to);
  }

  const BmpLayout& layout_;
  const std::size_t x_, width_;
};

// The rows of the image, either in the file or decoded from runs.
struct Rows {
  const std::uint8_t* first;  // row 0 of the file's order
  std::uint64_t stride;
  const BmpLayout& layout;

  const std::uint8_t* at(int y) const {
    const auto row = static_cast<std::uint64_t>(y);
    return first + stride * (layout.is_top_down ? row : layout.height - 1 - row);
  }
};

std::optional<Fault> check_length(Bytes bytes, const BmpLayout& layout, const Window& window) {
  const auto bottom = static_cast<std::uint64_t>(window.y + window.height);
  const std::uint64_t last =
      layout.is_top_down ? bottom - 1 : layout.height - 1 - static_cast<std::uint64_t>(window.y);
  const std::uint64_t end = layout.offset + last * layout.stride + layout.row_bytes;
  if (end <= bytes.size()) return std::nullopt;
  return Fault{
      ErrorCode::image_cut_off,
      fmt::format("the file ends before byte {}, where the last row would end", with_commas(end)),
      bytes.size()};
}

}  // namespace

std::optional<Fault> decode_bmp(StripSink& sink, Bytes bytes, const ImageHeader& header,
                                Window window, DecodeScratch& scratch) {
  BmpLayout layout;
  if (auto fault = read_bmp_layout(layout, bytes)) return fault;
  if (layout.width != header.width || layout.height != header.height) {
    return Fault{ErrorCode::image_header,
                 fmt::format("{} x {} pixels where {} x {} were expected", layout.width,
                             layout.height, header.width, header.height)};
  }
  const bool is_coded = layout.run_bits != 0;
  const auto width = static_cast<std::size_t>(window.width);
  const std::size_t strip_bytes = 4 * width * kRowsPerStrip;
  const std::size_t held = is_coded ? std::size_t{layout.width} * layout.height : 0;
  if (scratch.rows.size() < strip_bytes + held) scratch.rows.resize(strip_bytes + held);
  std::uint8_t* const memory = scratch.rows.data();
  Rows rows{.first = memory + strip_bytes, .stride = layout.width, .layout = layout};
  if (is_coded) {
    if (auto fault = decode_bmp_runs(memory + strip_bytes, bytes, layout)) return fault;
  } else {
    if (auto fault = check_length(bytes, layout, window)) return fault;
    rows.first = reinterpret_cast<const std::uint8_t*>(bytes.data()) + layout.offset;
    rows.stride = layout.stride;
  }

  const bool keep_alpha = header.keep_alpha && layout.channel[3] >= 0;
  std::uint8_t* const alpha = memory + 3 * width * kRowsPerStrip;
  const RowReader reader(layout, static_cast<std::size_t>(window.x), width);
  for (int y = window.y, end = window.y + window.height; y < end; y += kRowsPerStrip) {
    const int count = std::min(kRowsPerStrip, end - y);
    for (int i = 0; i < count; ++i) {
      const std::size_t at = static_cast<std::size_t>(i) * width;
      reader.read(memory + 3 * at, keep_alpha ? alpha + at : nullptr, rows.at(y + i));
    }
    sink.push({.pixels = memory,
               .stride = std::ptrdiff_t{window.width} * 3,
               .x = window.x,
               .y = y,
               .width = window.width,
               .rows = count,
               .alpha = keep_alpha ? alpha : nullptr,
               .alpha_stride = window.width});
  }
  return std::nullopt;
}

}  // namespace tundish
