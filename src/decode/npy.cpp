#include "decode/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace tundish {
namespace {

struct Shape {
  std::uint64_t side[3] = {1, 1, 1};
  int sides = 0;
  std::uint64_t items = 1;
  bool too_many = false;  // items, for 64 bits
};

struct Array {
  std::uint32_t height = 0, width = 0, channels = 1;
  Bytes pixels;
};

// The header is a Python dictionary with three known keys. This reads exactly that grammar and
// nothing more of Python.
class Text {
 public:
  explicit Text(std::string_view text) : rest_(text) {}

  bool take(char c) {
    skip_space();
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  bool take_word(std::string_view word) {
    skip_space();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  // In single or double quotes, without escapes.
  std::optional<std::string_view> take_string() {
    skip_space();
    if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"')) return std::nullopt;
    const std::size_t end = rest_.find(rest_[0], 1);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view inside = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return inside;
  }

  // At most 10 digits: more than any side that the limits could allow.
  std::optional<std::uint64_t> take_number() {
    skip_space();
    std::size_t digits = 0;
    std::uint64_t value = 0;
    while (digits < rest_.size() && rest_[digits] >= '0' && rest_[digits] <= '9') {
      if (digits == 10) return std::nullopt;
      value = value * 10 + static_cast<std::uint64_t>(rest_[digits++] - '0');
    }
    if (digits == 0) return std::nullopt;
    rest_.remove_prefix(digits);
    return value;
  }

  bool at_end() {
    skip_space();
    return rest_.empty();
  }

 private:
  void skip_space() {
    const std::size_t first = rest_.find_first_not_of(" \n");
    rest_.remove_prefix(first == std::string_view::npos ? rest_.size() : first);
  }

  std::string_view rest_;
};

// "(480, 640, 3)"; sides beyond the third are only counted and multiplied.
bool parse_shape(Shape& shape, Text& text) {
  if (!text.take('(')) return false;
  while (!text.take(')')) {
    const auto side = text.take_number();
    if (!side) return false;
    if (shape.sides < 3) shape.side[shape.sides] = *side;
    shape.too_many |= __builtin_mul_overflow(shape.items, *side, &shape.items);
    ++shape.sides;
    if (!text.take(',')) return text.take(')');
  }
  return true;
}

struct Dictionary {
  std::string_view descr;
  bool fortran_order = false;
  Shape shape;
};

bool parse_dictionary(Dictionary& out, std::string_view header) {
  Text text(header);
  bool seen[3] = {};
  if (!text.take('{')) return false;
  while (!text.take('}')) {
    const auto key = text.take_string();
    if (!key || !text.take(':')) return false;
    const int which = *key == "descr" ? 0 : *key == "fortran_order" ? 1 : *key == "shape" ? 2 : 3;
    if (which == 3 || seen[which]) return false;
    seen[which] = true;
    if (which == 0) {
      const auto descr = text.take_string();
      if (!descr) return false;
      out.descr = *descr;
    } else if (which == 1) {
      out.fortran_order = text.take_word("True");
      if (!out.fortran_order && !text.take_word("False")) return false;
    } else if (!parse_shape(out.shape, text)) {
      return false;
    }
    if (text.take(',')) continue;
    if (!text.take('}')) return false;
    break;
  }
  return seen[0] && seen[1] && seen[2] && text.at_end();
}

// The text between the fixed part and the data, which begin at `data`.
std::optional<Fault> find_header(std::string_view& header, std::size_t& data, Bytes bytes) {
  constexpr std::size_t kFixed = 10;  // magic, version, and two bytes of the length
  const Fault cut_off{ErrorCode::image_cut_off, "the file ends inside its header", bytes.size()};
  if (bytes.size() < kFixed) return cut_off;
  const auto version = std::to_integer<int>(bytes[6]);
  if (version < 1 || version > 3 || bytes[7] != std::byte{0}) {
    return Fault{ErrorCode::codec_unsupported,
                 fmt::format(".npy version {}.{}", version, std::to_integer<int>(bytes[7])), 6};
  }
  const std::size_t begin = version == 1 ? kFixed : kFixed + 2;
  if (bytes.size() < begin) return cut_off;
  const std::size_t length = version == 1 ? std::size_t{load<std::uint16_t>(&bytes[8])}
                                          : std::size_t{load<std::uint32_t>(&bytes[8])};
  if (bytes.size() - begin < length) return cut_off;

  header = {reinterpret_cast<const char*>(&bytes[begin]), length};
  data = begin + length;
  return std::nullopt;
}

std::optional<Fault> parse(Array& out, Bytes bytes) {
  std::string_view header;
  std::size_t data = 0;
  if (auto fault = find_header(header, data, bytes)) return fault;
  const std::size_t begin = data - header.size();

  Dictionary dictionary;
  if (!parse_dictionary(dictionary, header)) {
    return Fault{ErrorCode::image_header, "the .npy header is no dictionary of the known form",
                 begin};
  }
  const Shape& shape = dictionary.shape;
  if (dictionary.descr != "|u1" && dictionary.descr != "u1") {
    return Fault{ErrorCode::image_kind,
                 fmt::format("its type is '{}'", printable(std::string(dictionary.descr))), begin};
  }
  if (dictionary.fortran_order) {
    return Fault{ErrorCode::image_kind, "it is stored in Fortran order", begin};
  }
  if (shape.sides < 2 || shape.sides > 3 || (shape.side[2] != 1 && shape.side[2] != 3)) {
    return Fault{ErrorCode::image_kind,
                 shape.sides == 3 ? fmt::format("it has {} channels", shape.side[2])
                                  : fmt::format("it has {} dimensions", shape.sides),
                 begin};
  }
  constexpr std::uint64_t kLongest = 0xffffffffu;
  if (shape.side[0] > kLongest || shape.side[1] > kLongest) {
    return Fault{ErrorCode::image_too_large,
                 fmt::format("{} x {} pixels", shape.side[1], shape.side[0]), begin};
  }

  const std::uint64_t have = bytes.size() - data;
  std::uint64_t need;
  if (__builtin_mul_overflow(shape.side[0], shape.side[1], &need) ||
      __builtin_mul_overflow(need, shape.side[2], &need) || have < need) {
    return Fault{ErrorCode::image_cut_off,
                 fmt::format("{} bytes of pixels, fewer than its shape says", with_commas(have)),
                 bytes.size()};
  }
  if (have > need) {
    return Fault{ErrorCode::image_damaged,
                 fmt::format("{} bytes follow the last pixel", with_commas(have - need)),
                 bytes.size() - (have - need)};
  }
  out.height = static_cast<std::uint32_t>(shape.side[0]);
  out.width = static_cast<std::uint32_t>(shape.side[1]);
  out.channels = static_cast<std::uint32_t>(shape.side[2]);
  out.pixels = bytes.subspan(data);
  return std::nullopt;
}

// Bytes of one item of a plain type, such as "<f4", "|b1", "<U16", "<M8[ns]"; 0 for any other.
std::uint64_t item_bytes(std::string_view descr) {
  if (!descr.empty() && std::string_view("<>|=").find(descr[0]) != std::string_view::npos) {
    descr.remove_prefix(1);
  }
  if (descr.empty() || std::string_view("biufcmMSUV?").find(descr[0]) == std::string_view::npos) {
    return 0;
  }
  if (descr == "?") return 1;
  Text text(descr.substr(1));
  const auto number = text.take_number();
  return number ? *number * (descr[0] == 'U' ? 4 : 1) : 0;
}

}  // namespace

std::optional<Fault> check_npy(Bytes bytes) {
  constexpr std::string_view kMagic = "\x93NUMPY";
  const auto damaged = [](std::string why, std::size_t at) {
    return Fault{ErrorCode::image_damaged, std::move(why), at};
  };
  const std::string_view begin(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!begin.starts_with(kMagic)) return damaged("it is no .npy file", 0);
  std::string_view header;
  std::size_t data = 0;
  if (auto fault = find_header(header, data, bytes)) {
    return damaged(std::move(fault->reason), static_cast<std::size_t>(fault->offset));
  }
  Dictionary dictionary;
  // A structured type is a list of fields, not a string: NumPy has the last word on it.
  if (!parse_dictionary(dictionary, header)) {
    if (header.find('[') != std::string_view::npos) return std::nullopt;
    return damaged("its .npy header is no dictionary of the known form", data - header.size());
  }
  if (dictionary.descr.find('O') != std::string_view::npos) {
    return damaged("it holds Python objects, which are not loaded", data - header.size());
  }
  std::uint64_t need = 0;
  const std::uint64_t have = bytes.size() - data;
  if (dictionary.shape.too_many ||
      __builtin_mul_overflow(dictionary.shape.items, item_bytes(dictionary.descr), &need) ||
      have < need) {
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
  if (array.channels == 3) {  // already what a strip is
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
