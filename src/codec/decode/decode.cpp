#include "codec/decode/decode.h"

#include <fmt/format.h>

#include <new>

#include "codec/decode/bmp/bmp.h"
#include "codec/decode/gif/gif.h"
#include "codec/decode/jpeg.h"
#include "codec/decode/npy.h"
#include "codec/decode/png.h"
#include "codec/decode/raw.h"
#include "codec/decode/webp/webp.h"

namespace tundish {

std::optional<Fault> check_limits(const ImageHeader& header, std::size_t bytes,
                                  const Limits& limits) {
  if (header.width == 0 || header.height == 0) {
    return Fault{ErrorCode::image_header,
                 fmt::format("its size is {} x {}", header.width, header.height)};
  }
  const std::uint64_t pixels = std::uint64_t{header.width} * header.height;
  if (header.width > limits.max_side || header.height > limits.max_side ||
      pixels > limits.max_pixels) {
    return Fault{
        ErrorCode::image_too_large,
        fmt::format("{} x {} pixels; allowed are {} pixels and sides of {}", header.width,
                    header.height, with_commas(limits.max_pixels), with_commas(limits.max_side))};
  }
  if (bytes > limits.max_bytes) {
    return Fault{
        ErrorCode::image_too_large,
        fmt::format("{} bytes; allowed are {}", with_commas(bytes), with_commas(limits.max_bytes))};
  }
  return std::nullopt;
}

namespace {

std::optional<Fault> read_lanes_header(ImageHeader& out, Bytes bytes) {
  const std::optional<lanes::RecordSize> size = lanes::read_size(bytes);
  if (!size) return Fault{ErrorCode::image_header, "a lanes record of too few bytes"};
  out.codec = Codec::lanes;
  out.width = static_cast<std::uint32_t>(size->width);
  out.height = static_cast<std::uint32_t>(size->height);
  return std::nullopt;
}

std::optional<Fault> decode_lanes(StripSink& sink, Bytes bytes, const ImageHeader& header,
                                  Window window, DecodeScratch& scratch) {
  if (!header.tables) {
    return Fault{ErrorCode::codec_unsupported,
                 "a lanes record outside the pack that holds its tables"};
  }
  if (!scratch.lanes) scratch.lanes = std::make_unique<lanes::Decoder>();
  return scratch.lanes->decode(sink, bytes, window, *header.tables);
}

Fault unsupported() {
  return {ErrorCode::codec_unsupported, "an image, but neither JPEG, PNG, WebP, BMP, GIF nor .npy"};
}

bool is_inside(const Window& window, const ImageHeader& header) {
  return window.x >= 0 && window.y >= 0 && window.width > 0 && window.height > 0 &&
         std::int64_t{window.x} + window.width <= header.width &&
         std::int64_t{window.y} + window.height <= header.height;
}

}  // namespace

std::optional<Fault> read_header(ImageHeader& out, Bytes bytes, const Limits& limits) {
  out = {};
  const std::optional<Codec> codec = sniff(bytes);
  if (!codec) {
    return Fault{ErrorCode::not_an_image,
                 bytes.empty() ? "it has no bytes" : "its first bytes are of no image format"};
  }
  std::optional<Fault> fault;
  switch (*codec) {
    case Codec::jpeg:
      fault = read_jpeg_header(out, bytes);
      break;
    case Codec::png:
      fault = read_png_header(out, bytes);
      break;
    case Codec::npy:
      fault = read_npy_header(out, bytes);
      break;
    case Codec::lanes:
      fault = read_lanes_header(out, bytes);
      break;
    case Codec::webp:
      fault = read_webp_header(out, bytes);
      break;
    case Codec::bmp:
      fault = read_bmp_header(out, bytes);
      break;
    case Codec::gif:
      fault = read_gif_header(out, bytes);
      break;
    default:
      return unsupported();
  }
  return fault ? fault : check_limits(out, bytes.size(), limits);
}

void reduce(ImageHeader& header, int by) {
  const auto divisor = static_cast<std::uint32_t>(by);
  header.width = (header.width + divisor - 1) / divisor;
  header.height = (header.height + divisor - 1) / divisor;
  header.reduction = static_cast<std::uint8_t>(by);
}

std::optional<Fault> decode(StripSink& sink, Bytes bytes, const ImageHeader& header, Window window,
                            DecodeScratch& scratch, const Limits& limits) {
  if (auto fault = check_limits(header, bytes.size(), limits)) return fault;
  if (!is_inside(window, header)) {
    return Fault{ErrorCode::argument,
                 fmt::format("window {}+{} x {}+{} is not inside {} x {} pixels", window.x,
                             window.width, window.y, window.height, header.width, header.height)};
  }
  if (header.keep16 && !header.gray16) {
    return Fault{ErrorCode::image_kind, "it has no 16-bit grays, which mode=\"I;16\" takes"};
  }
  try {
    switch (header.codec) {
      case Codec::jpeg:
        return decode_jpeg(sink, bytes, header, window, scratch, limits);
      case Codec::png:
        return decode_png(sink, bytes, header, window, scratch);
      case Codec::npy:
        return decode_npy(sink, bytes, header, window, scratch);
      case Codec::lanes:
        return decode_lanes(sink, bytes, header, window, scratch);
      case Codec::raw:
        return decode_raw(sink, bytes, header, window, scratch);
      case Codec::webp:
        return decode_webp(sink, bytes, header, window, scratch);
      case Codec::bmp:
        return decode_bmp(sink, bytes, header, window, scratch);
      case Codec::gif:
        return decode_gif(sink, bytes, header, window, scratch);
      default:
        return unsupported();
    }
  } catch (const std::bad_alloc&) {
    return Fault{ErrorCode::no_memory,
                 fmt::format("while decoding {} x {} pixels", header.width, header.height)};
  }
}

}  // namespace tundish
