#include "codec/decode/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "codec/decode/npy_head.h"

namespace tundish {
namespace {

struct Array {
  std::uint32_t height = 0, width = 0, channels = 1;
  Bytes pixels;
};

std::optional<Fault> parse(Array& out, Bytes bytes) {
  NpyHead head;
  if (auto fault = read_npy_head(head, bytes)) return fault;
  if (head.structured) return Fault{ErrorCode::image_header, "its type is structured", head.text};
  if (without_byte_order(head.descr) != "u1") {
    return Fault{ErrorCode::image_kind,
                 fmt::format("its type is '{}'", printable(std::string(head.descr))), head.text};
  }
  if (head.fortran_order) {
    return Fault{ErrorCode::image_kind, "it is stored in Fortran order", head.text};
  }
  const std::size_t sides = head.shape.size();
  const std::uint64_t channels = sides == 3 ? head.shape[2] : 1;
  if (sides < 2 || sides > 3 || (channels != 1 && channels != 3)) {
    return Fault{ErrorCode::image_kind,
                 sides == 3 ? fmt::format("it has {} channels", channels)
                            : fmt::format("it has {} dimensions", sides),
                 head.text};
  }
  const std::uint64_t height = head.shape[0], width = head.shape[1];
  constexpr std::uint64_t kLongest = 0xffffffffu;
  if (height > kLongest || width > kLongest) {
    return Fault{ErrorCode::image_too_large, fmt::format("{} x {} pixels", width, height),
                 head.text};
  }

  const std::uint64_t have = bytes.size() - head.data;
  std::uint64_t need;
  if (__builtin_mul_overflow(height, width, &need) ||
      __builtin_mul_overflow(need, channels, &need) || have < need) {
    return Fault{ErrorCode::image_cut_off,
                 fmt::format("{} bytes of pixels, fewer than its shape says", with_commas(have)),
                 bytes.size()};
  }
  if (have > need) {
    return Fault{ErrorCode::image_damaged,
                 fmt::format("{} bytes follow the last pixel", with_commas(have - need)),
                 bytes.size() - (have - need)};
  }
  out.height = static_cast<std::uint32_t>(height);
  out.width = static_cast<std::uint32_t>(width);
  out.channels = static_cast<std::uint32_t>(channels);
  out.pixels = bytes.subspan(head.data);
  return std::nullopt;
}

// Returns the size of one item of a plain type, such as "<f4", "|b1", "<U16", "<M8[ns]"; else 0.
std::uint64_t item_bytes(std::string_view descr) {
  descr = without_byte_order(descr);
  if (descr == "?") return 1;
  if (descr.empty() || std::string_view("biufcmMSUV").find(descr[0]) == std::string_view::npos) {
    return 0;
  }
  std::uint32_t number = 0;
  const auto end = std::from_chars(descr.data() + 1, descr.data() + descr.size(), number);
  if (end.ec != std::errc()) return 0;
  return std::uint64_t{number} * (descr[0] == 'U' ? 4 : 1);
}

// Returns the size of all items; empty if it exceeds 64 bits.
std::optional<std::uint64_t> data_bytes(const NpyHead& head) {
  std::uint64_t bytes = item_bytes(head.descr);
  bool over = false;
  for (const std::uint64_t side : head.shape) over |= __builtin_mul_overflow(bytes, side, &bytes);
  return over ? std::nullopt : std::optional(bytes);
}

}  // namespace

std::optional<Fault> check_npy(Bytes bytes) {
  const auto damaged = [](std::string why, std::size_t at) {
    return Fault{ErrorCode::image_damaged, std::move(why), at};
  };
  if (!begins_as_npy(bytes)) return damaged("it is no .npy file", 0);
  NpyHead head;
  if (auto fault = read_npy_head(head, bytes)) {
    return damaged(std::move(fault->reason), static_cast<std::size_t>(fault->offset));
  }
  if (head.structured) return std::nullopt;  // only NumPy can check the rest
  if (head.descr.find('O') != std::string_view::npos) {
    return damaged("it holds Python objects, which are not loaded", head.text);
  }
  const std::uint64_t have = bytes.size() - head.data;
  const std::optional<std::uint64_t> need = data_bytes(head);
  if (!need || have < *need) {
    return damaged(fmt::format("{} bytes of values, fewer than its shape says", with_commas(have)),
                   bytes.size());
  }
  return std::nullopt;
}

std::optional<Fault> read_npy_header(ImageHeader& out, Bytes bytes) {
  out = {.codec = Codec::npy};
  Array array;
  if (auto fault = parse(array, bytes)) return fault;
  out.width = array.width;
  out.height = array.height;
  return std::nullopt;
}

std::optional<Fault> decode_npy(StripSink& sink, Bytes bytes, const ImageHeader& header,
                                Window window, DecodeScratch& scratch) {
  Array array;
  if (auto fault = parse(array, bytes)) return fault;
  if (array.width != header.width || array.height != header.height) {
    return Fault{ErrorCode::image_header,
                 fmt::format("{} x {} pixels where {} x {} were expected", array.width,
                             array.height, header.width, header.height)};
  }
  const std::size_t row_bytes = std::size_t{array.width} * array.channels;
  const auto* first = reinterpret_cast<const std::uint8_t*>(array.pixels.data()) +
                      static_cast<std::size_t>(window.y) * row_bytes +
                      static_cast<std::size_t>(window.x) * array.channels;
  if (array.channels == 3) {  // already in the form of a strip
    sink.push({.pixels = first,
               .stride = static_cast<std::ptrdiff_t>(row_bytes),
               .x = window.x,
               .y = window.y,
               .width = window.width,
               .rows = window.height});
    return std::nullopt;
  }
  const auto width = static_cast<std::size_t>(window.width);
  const std::size_t stride = width * 3;
  if (scratch.rows.size() < stride * kRowsPerStrip) scratch.rows.resize(stride * kRowsPerStrip);
  for (int done = 0; done < window.height;) {
    const int count = std::min(kRowsPerStrip, window.height - done);
    std::uint8_t* to = scratch.rows.data();
    for (int y = 0; y < count; ++y) {
      const std::uint8_t* from = first + static_cast<std::size_t>(done + y) * row_bytes;
      for (std::size_t x = 0; x < width; ++x, to += 3) to[0] = to[1] = to[2] = from[x];
    }
    sink.push({.pixels = scratch.rows.data(),
               .stride = static_cast<std::ptrdiff_t>(stride),
               .x = window.x,
               .y = window.y + done,
               .width = window.width,
               .rows = count});
    done += count;
  }
  return std::nullopt;
}

}  // namespace tundish
