#include "codec/decode/webp/webp.h"

#include <fmt/format.h>
#include <webp/decode.h>

#include <algorithm>
#include <cstring>

#include "codec/decode/webp/webp_memory.h"

namespace tundish {
namespace {

// For a lossless frame or alpha plane: libwebp's writer makes at most 2,600 groups of Huffman
// codes, each covering at least 4 x 4 pixels. The tables of a group have at most 5,002 entries.
constexpr std::uint64_t kMaxGroups = 2600;
constexpr std::uint64_t kGroupBytes = 5002 * 4 + 640;
constexpr std::uint64_t kStructs = 256 << 10;
// Lossy: rows of macroblocks with prediction data, and rows of lossless pixels.
constexpr std::uint64_t kPerColumn = 256;

Fault fault_of(VP8StatusCode status, const WebpMemoryLimit& memory, std::uint64_t limit) {
  switch (status) {
    case VP8_STATUS_OUT_OF_MEMORY:
      if (!memory.was_reached()) return {ErrorCode::no_memory, "no memory for libwebp"};
      return {ErrorCode::image_too_large,
              fmt::format("decoding asks for more than {} bytes beside its pixels; files of "
                          "libwebp's own writer need less",
                          with_commas(limit))};
    case VP8_STATUS_SUSPENDED:
    case VP8_STATUS_NOT_ENOUGH_DATA:
      return {ErrorCode::image_cut_off, "the data end before the last row"};
    case VP8_STATUS_UNSUPPORTED_FEATURE:
      return {ErrorCode::codec_unsupported, "a feature of WebP that libwebp does not decode"};
    default:
      return {ErrorCode::image_damaged, "the data of the frame make no sense"};
  }
}

// Decodes the frame with `channels` bytes per pixel, 3 or 4.
std::optional<Fault> decode_frame(std::uint8_t* to, std::size_t channels, const WebpFrame& frame) {
  const auto width = static_cast<std::size_t>(frame.place.width);
  const auto height = static_cast<std::size_t>(frame.place.height);
  WebPDecoderConfig config;
  if (WebPInitDecoderConfig(&config) == 0) {
    return Fault{ErrorCode::codec_unsupported, "libwebp is of another version than its header"};
  }
  config.output.colorspace = channels == 4 ? MODE_RGBA : MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA = {
      .rgba = to, .stride = static_cast<int>(width * channels), .size = width * height * channels};
  const std::uint64_t limit = webp_library_bytes(frame);
  const WebpMemoryLimit memory(limit);
  const VP8StatusCode status = WebPDecode(reinterpret_cast<const std::uint8_t*>(frame.coded.data()),
                                          frame.coded.size(), &config);
  if (status == VP8_STATUS_OK) return std::nullopt;
  return fault_of(status, memory, limit);
}

// Rows of the window on the canvas: the frame's pixels, surrounded by transparent zeros.
class CanvasRows {
 public:
  CanvasRows(const WebpFrame& frame, const std::uint8_t* pixels, std::size_t channels,
             bool keep_alpha, const Window& window, std::uint8_t* memory)
      : frame_(frame),
        pixels_(pixels),
        channels_(channels),
        keep_alpha_(keep_alpha),
        window_(window),
        memory_(memory) {}

  static std::size_t bytes(const Window& window) {
    return static_cast<std::size_t>(window.width) * 4 * kRowsPerStrip;
  }

  Strip strip(int y, int rows) {
    const auto width = static_cast<std::size_t>(window_.width);
    std::uint8_t* const alpha = memory_ + 3 * width * kRowsPerStrip;
    for (int i = 0; i < rows; ++i) {
      const auto row = static_cast<std::size_t>(i);
      fill(memory_ + 3 * width * row, alpha + width * row, y + i);
    }
    return {.pixels = memory_,
            .stride = std::ptrdiff_t{window_.width} * 3,
            .x = window_.x,
            .y = y,
            .width = window_.width,
            .rows = rows,
            .alpha = keep_alpha_ ? alpha : nullptr,
            .alpha_stride = window_.width};
  }

 private:
  void fill(std::uint8_t* rgb, std::uint8_t* alpha, int y) const {
    const Window& place = frame_.place;
    const auto width = static_cast<std::size_t>(window_.width);
    std::memset(rgb, 0, 3 * width);
    std::memset(alpha, 0, width);
    if (y < place.y || y >= place.y + place.height) return;
    const int left = std::max(window_.x, place.x);
    const int right = std::min(window_.x + window_.width, place.x + place.width);
    if (left >= right) return;
    const auto index =
        static_cast<std::size_t>(y - place.y) * static_cast<std::size_t>(place.width) +
        static_cast<std::size_t>(left - place.x);
    const std::uint8_t* from = pixels_ + channels_ * index;
    const auto to = static_cast<std::size_t>(left - window_.x);
    const auto count = static_cast<std::size_t>(right - left);
    for (std::size_t i = to; i < to + count; ++i, from += channels_) {
      std::memcpy(rgb + 3 * i, from, 3);
      alpha[i] = channels_ == 4 ? from[3] : std::uint8_t{255};
    }
  }

  const WebpFrame& frame_;
  const std::uint8_t* const pixels_;
  const std::size_t channels_;
  const bool keep_alpha_;
  const Window window_;
  std::uint8_t* const memory_;
};

}  // namespace

std::uint64_t webp_library_bytes(const WebpFrame& frame) {
  const auto width = static_cast<std::uint64_t>(frame.place.width);
  const auto height = static_cast<std::uint64_t>(frame.place.height);
  std::uint64_t sum = kStructs + kPerColumn * (width + 64);
  if (!frame.is_lossless && !frame.has_alpha_plane) return sum;
  // Pixels of 4 bytes, and the images of transforms and Huffman groups, with one pixel per block.
  // An alpha plane is held a second time.
  const std::uint64_t blocks = (width / 4 + 1) * (height / 4 + 1);
  sum += 4 * (width + 16) * (height + 1) + 3 * 4 * blocks;
  if (frame.has_alpha_plane) sum += width * height;
  return sum + std::min(blocks, kMaxGroups) * kGroupBytes;
}

std::optional<Fault> decode_webp(StripSink& sink, Bytes bytes, const ImageHeader& header,
                                 Window window, DecodeScratch& scratch) {
  WebpFrame frame;
  if (auto fault = find_webp_frame(frame, bytes)) return fault;
  if (frame.canvas != Size{static_cast<int>(header.width), static_cast<int>(header.height)}) {
    return Fault{ErrorCode::image_header,
                 fmt::format("{} x {} pixels where {} x {} were expected", frame.canvas.width,
                             frame.canvas.height, header.width, header.height)};
  }
  const bool keep_alpha = header.keep_alpha && frame.has_alpha;
  const std::size_t channels = keep_alpha ? 4 : 3;
  const std::size_t held = static_cast<std::size_t>(frame.place.width) *
                           static_cast<std::size_t>(frame.place.height) * channels;
  const std::size_t need = held + CanvasRows::bytes(window);
  if (scratch.rows.size() < need) scratch.rows.resize(need);
  std::uint8_t* const pixels = scratch.rows.data();
  if (auto fault = decode_frame(pixels, channels, frame)) return fault;

  const Window whole{0, 0, frame.canvas.width, frame.canvas.height};
  const bool direct = !keep_alpha && frame.place == whole;
  CanvasRows rows(frame, pixels, channels, keep_alpha, window, pixels + held);
  const std::ptrdiff_t stride = std::ptrdiff_t{frame.canvas.width} * 3;
  for (int y = window.y, end = window.y + window.height; y < end; y += kRowsPerStrip) {
    const int count = std::min(kRowsPerStrip, end - y);
    if (!direct) {
      sink.push(rows.strip(y, count));
      continue;
    }
    sink.push({.pixels = pixels + y * stride + std::ptrdiff_t{window.x} * 3,
               .stride = stride,
               .x = window.x,
               .y = y,
               .width = window.width,
               .rows = count});
  }
  return std::nullopt;
}

}  // namespace tundish
