#include "codec/decode/gif/gif.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "codec/decode/gif/gif_pixels.h"

namespace tundish {
namespace {

// Provides the rows of the frame from top to bottom, as color indices.
class FrameRows {
 public:
  // `memory` must have frame_bytes().
  FrameRows(Bytes bytes, const GifLayout& layout, std::uint8_t* memory)
      : layout_(layout), pixels_(bytes.subspan(layout.offset), layout.code_bits), memory_(memory) {}

  static std::size_t frame_bytes(const GifLayout& layout) {
    const auto height = static_cast<std::size_t>(layout.frame.height);
    return static_cast<std::size_t>(layout.frame.width) * (layout.is_interlaced ? height : 1);
  }

  // Returns row `y` of the frame; `y` must not decrease between calls. Null on a fault.
  const std::uint8_t* row(int y) {
    const auto width = static_cast<std::size_t>(layout_.frame.width);
    if (layout_.is_interlaced) {
      if (!is_decoded_ && !decode_interlaced()) return nullptr;
      return memory_ + static_cast<std::size_t>(y) * width;
    }
    for (; next_ <= y; ++next_) {
      if (!pixels_.read(memory_, width)) return nullptr;
    }
    return memory_;
  }

  Fault fault() const {
    Fault out = pixels_.fault();
    out.offset += layout_.offset;
    return out;
  }

 private:
  bool decode_interlaced() {
    const auto width = static_cast<std::size_t>(layout_.frame.width);
    constexpr int kFirst[] = {0, 4, 2, 1}, kStep[] = {8, 8, 4, 2};
    for (int pass = 0; pass < 4; ++pass) {
      for (int y = kFirst[pass]; y < layout_.frame.height; y += kStep[pass]) {
        if (!pixels_.read(memory_ + static_cast<std::size_t>(y) * width, width)) return false;
      }
    }
    is_decoded_ = true;
    return true;
  }

  const GifLayout& layout_;
  GifPixels pixels_;
  std::uint8_t* const memory_;
  bool is_decoded_ = false;
  int next_ = 0;  // next row of the frame
};

// Writes a row of the window: the frame's pixels, and `outside` around them. `row` is null if the
// row is outside the frame.
void put_row(std::uint8_t* rgb, std::uint8_t* alpha, const std::uint8_t* row,
             const GifLayout& layout, const Window& window) {
  const std::uint8_t outside = layout.transparent.value_or(0);
  const int left = layout.frame.x, right = left + layout.frame.width;
  for (int i = 0; i < window.width; ++i, rgb += 3) {
    const int x = window.x + i;
    const std::uint8_t number = row && x >= left && x < right ? row[x - left] : outside;
    std::memcpy(rgb, layout.palette[number].data(), 3);
    if (alpha) alpha[i] = number == layout.transparent ? std::uint8_t{0} : std::uint8_t{255};
  }
}

}  // namespace

std::optional<Fault> decode_gif(StripSink& sink, Bytes bytes, const ImageHeader& header,
                                Window window, DecodeScratch& scratch) {
  GifLayout layout;
  if (auto fault = read_gif_layout(layout, bytes)) return fault;
  if (layout.screen != Size{static_cast<int>(header.width), static_cast<int>(header.height)}) {
    return Fault{ErrorCode::image_header,
                 fmt::format("{} x {} pixels where {} x {} were expected", layout.screen.width,
                             layout.screen.height, header.width, header.height)};
  }
  const auto width = static_cast<std::size_t>(window.width);
  const std::size_t strip_bytes = 4 * width * kRowsPerStrip;
  const std::size_t need = strip_bytes + FrameRows::frame_bytes(layout);
  if (scratch.rows.size() < need) scratch.rows.resize(need);
  std::uint8_t* const memory = scratch.rows.data();
  FrameRows rows(bytes, layout, memory + strip_bytes);

  const bool keep_alpha = header.keep_alpha && layout.transparent.has_value();
  std::uint8_t* const alpha = memory + 3 * width * kRowsPerStrip;
  const int top = layout.frame.y, bottom = top + layout.frame.height;
  for (int y = window.y, end = window.y + window.height; y < end; y += kRowsPerStrip) {
    const int count = std::min(kRowsPerStrip, end - y);
    for (int i = 0; i < count; ++i) {
      const bool is_frame = y + i >= top && y + i < bottom;
      const std::uint8_t* const row = is_frame ? rows.row(y + i - top) : nullptr;
      if (is_frame && !row) return rows.fault();
      const std::size_t at = static_cast<std::size_t>(i) * width;
      put_row(memory + 3 * at, keep_alpha ? alpha + at : nullptr, row, layout, window);
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
