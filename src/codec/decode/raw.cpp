#include "codec/decode/raw.h"

#include <fmt/format.h>

#include <algorithm>

#include "codec/decode/join_planes.h"

namespace tundish {
namespace {

struct Sides {
  std::uint64_t height = 0, width = 0, channels = 1;
};

std::optional<Sides> sides_of(const std::vector<std::uint64_t>& shape, bool channels_first) {
  if (shape.size() == 2) return Sides{shape[0], shape[1], 1};
  if (shape.size() != 3) return std::nullopt;
  return channels_first ? Sides{shape[1], shape[2], shape[0]} : Sides{shape[0], shape[1], shape[2]};
}

// Strides of a picture: element (x, y, c) is at x * column + y * row + c * channel.
struct Steps {
  std::size_t row, column, channel;
};

Steps steps_of(const ImageHeader& header) {
  const RawPixels& raw = header.raw;
  if (raw.channels_first) {
    return {header.width, 1, std::size_t{header.width} * header.height};
  }
  return {std::size_t{header.width} * raw.channels, raw.channels, 1};
}

// Copies one row of the window as RGB, with alpha if present.
void copy_row(std::uint8_t* rgb, std::uint8_t* alpha, const std::uint8_t* from, int width,
              const Steps& steps, int channels) {
  if (steps.column == 1) {  // planes, and grays
    const std::size_t next = channels == 1 ? 0 : steps.channel;
    join_planes(rgb, from, from + next, from + 2 * next, width);
    if (alpha) std::copy_n(from + 3 * next, width, alpha);
    return;
  }
  for (int x = 0; x < width; ++x, from += steps.column) {
    for (std::size_t c = 0; c < 3; ++c) *rgb++ = from[steps.channel * c];
    if (alpha) *alpha++ = from[3 * steps.channel];
  }
}

// Copies 16-bit grays: the low byte, the high byte, 0.
void copy_row16(std::uint8_t* rgb, const std::uint8_t* from, int width) {
  for (int x = 0; x < width; ++x, from += 2, rgb += 3) {
    rgb[0] = from[0];
    rgb[1] = from[1];
    rgb[2] = 0;
  }
}

}  // namespace

std::optional<Fault> read_raw_header(ImageHeader& out, const ArrayType& type, bool channels_first,
                                     Bytes bytes) {
  out = {.codec = Codec::raw};
  const std::optional<Sides> sides = sides_of(type.shape, channels_first);
  const bool deep = type.element == ArrayElement::uint16;
  const bool fits =
      sides && (deep ? sides->channels == 1
                     : type.element == ArrayElement::uint8 &&
                           (sides->channels == 1 || sides->channels == 3 || sides->channels == 4));
  const std::optional<std::uint64_t> need = array_bytes(type);
  if (!fits || !need || sides->height > UINT32_MAX || sides->width > UINT32_MAX) {
    return Fault{ErrorCode::image_kind,
                 fmt::format("an array of {}; pictures are uint8 with 1, 3 or 4 channels, or "
                             "uint16 with one",
                             array_text(type))};
  }
  if (bytes.size() != *need) {
    return Fault{bytes.size() < *need ? ErrorCode::image_cut_off : ErrorCode::image_damaged,
                 fmt::format("{} bytes, where {} has {}", with_commas(bytes.size()),
                             array_text(type), with_commas(*need)),
                 std::min<std::uint64_t>(bytes.size(), *need)};
  }
  out.width = static_cast<std::uint32_t>(sides->width);
  out.height = static_cast<std::uint32_t>(sides->height);
  out.gray16 = deep;
  out.raw = {static_cast<std::uint8_t>(sides->channels), channels_first && sides->channels > 1};
  return std::nullopt;
}

std::optional<Fault> decode_raw(StripSink& sink, Bytes bytes, const ImageHeader& header,
                                Window window, DecodeScratch& scratch) {
  const int channels = header.raw.channels;
  if (header.gray16 && !header.keep16) {
    return Fault{ErrorCode::image_kind, "16-bit grays are no RGB: give mode=\"I;16\""};
  }
  const Steps steps = header.gray16 ? Steps{2 * std::size_t{header.width}, 2, 1} : steps_of(header);
  const auto* first = reinterpret_cast<const std::uint8_t*>(bytes.data()) +
                      static_cast<std::size_t>(window.y) * steps.row +
                      static_cast<std::size_t>(window.x) * steps.column;
  if (channels == 3 && !header.raw.channels_first) {  // already in the form of a strip
    sink.push({.pixels = first,
               .stride = static_cast<std::ptrdiff_t>(steps.row),
               .x = window.x,
               .y = window.y,
               .width = window.width,
               .rows = window.height});
    return std::nullopt;
  }
  const auto width = static_cast<std::size_t>(window.width);
  scratch.rows.resize(std::max(scratch.rows.size(), 4 * width * kRowsPerStrip));
  std::uint8_t* const rgb = scratch.rows.data();
  std::uint8_t* const alpha =
      header.keep_alpha && channels == 4 ? rgb + 3 * width * kRowsPerStrip : nullptr;
  for (int done = 0; done < window.height;) {
    const int count = std::min(kRowsPerStrip, window.height - done);
    for (int y = 0; y < count; ++y) {
      const auto row = static_cast<std::size_t>(y);
      const std::uint8_t* from = first + static_cast<std::size_t>(done + y) * steps.row;
      std::uint8_t* const to = rgb + 3 * width * row;
      if (header.gray16) {
        copy_row16(to, from, window.width);
      } else {
        copy_row(to, alpha ? alpha + width * row : nullptr, from, window.width, steps, channels);
      }
    }
    sink.push({.pixels = rgb,
               .stride = static_cast<std::ptrdiff_t>(3 * width),
               .x = window.x,
               .y = window.y + done,
               .width = window.width,
               .rows = count,
               .alpha = alpha,
               .alpha_stride = alpha ? static_cast<std::ptrdiff_t>(width) : 0});
    done += count;
  }
  return std::nullopt;
}

}  // namespace tundish
