#include "source/arrays/npy_layout.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "source/format.h"

namespace tundish {
namespace {

constexpr const char* kFormat = "NumPy .npy";
constexpr std::string_view kMagic = "\x93NUMPY";

// The head is a Python dictionary with three known keys: this reads that and nothing else.
class Words {
 public:
  explicit Words(std::string_view text) : rest_(text) {}

  bool take(std::string_view word) {
    skip_blanks();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  // In single or double quotes, without escapes.
  std::optional<std::string_view> take_string() {
    skip_blanks();
    if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"')) return std::nullopt;
    const std::size_t end = rest_.find(rest_[0], 1);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view inside = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return inside;
  }

  std::optional<std::uint64_t> take_number() {
    skip_blanks();
    std::uint64_t value = 0;
    std::size_t digits = 0;
    for (; digits < rest_.size() && rest_[digits] >= '0' && rest_[digits] <= '9'; ++digits) {
      if (digits == 18) return std::nullopt;
      value = value * 10 + static_cast<std::uint64_t>(rest_[digits] - '0');
    }
    if (digits == 0) return std::nullopt;
    rest_.remove_prefix(digits);
    take("L");  // Python 2 wrote long numbers so
    return value;
  }

  bool at_end() {
    skip_blanks();
    return rest_.empty();
  }

 private:
  void skip_blanks() {
    const std::size_t first = rest_.find_first_not_of(" \n");
    rest_.remove_prefix(first == std::string_view::npos ? rest_.size() : first);
  }
  std::string_view rest_;
};

struct Head {
  std::string_view descr;
  bool structured = false;
  bool fortran_order = false;
  std::vector<std::uint64_t> shape;
};

bool take_shape(Head& out, Words& words) {
  if (!words.take("(")) return false;
  while (!words.take(")")) {
    const auto side = words.take_number();
    if (!side || out.shape.size() == kMaxArraySides) return false;
    out.shape.push_back(*side);
    if (!words.take(",")) return words.take(")");
  }
  return true;
}

bool take_value(Head& out, std::string_view key, Words& words) {
  if (key == "shape") return take_shape(out, words);
  if (key == "fortran_order") {
    out.fortran_order = words.take("True");
    return out.fortran_order || words.take("False");
  }
  if (words.take("[")) {
    out.structured = true;
    return false;
  }
  const auto descr = words.take_string();
  if (descr) out.descr = *descr;
  return descr.has_value();
}

bool parse(Head& out, std::string_view text) {
  Words words(text);
  std::array<bool, 3> seen = {};
  constexpr std::array<std::string_view, 3> kKeys = {"descr", "fortran_order", "shape"};
  if (!words.take("{")) return false;
  while (!words.take("}")) {
    const auto key = words.take_string();
    if (!key || !words.take(":")) return false;
    std::size_t which = 0;
    while (which < kKeys.size() && *key != kKeys[which]) ++which;
    if (which == kKeys.size() || seen[which]) return false;
    seen[which] = true;
    if (!take_value(out, *key, words)) return false;
    if (words.take(",")) continue;
    if (!words.take("}")) return false;
    break;
  }
  return seen[0] && seen[1] && seen[2] && words.at_end();
}

// The text between the fixed part and the elements.
std::optional<Fault> find_text(std::string_view& text, std::size_t& data, Bytes first) {
  const Fault cut_off = damaged_source(kFormat, "the file ends inside its head", first.size());
  if (!begins_as_npy(first)) return damaged_source(kFormat, "it does not begin as a .npy file", 0);
  if (first.size() < 12) return cut_off;
  const auto version = std::to_integer<int>(first[6]);
  if (version < 1 || version > 3 || first[7] != std::byte{0}) {
    return unsupported_source(
        kFormat, fmt::format("version {}.{}", version, std::to_integer<int>(first[7])), 6);
  }
  const std::size_t begin = version == 1 ? 10 : 12;
  const std::size_t length = version == 1 ? std::size_t{load<std::uint16_t>(&first[8])}
                                          : std::size_t{load<std::uint32_t>(&first[8])};
  if (length > kMaxNpyHead - begin) {
    return unsupported_source(kFormat, fmt::format("a head of {} bytes", with_commas(length)), 8);
  }
  if (length > first.size() - begin) return cut_off;
  text = {reinterpret_cast<const char*>(&first[begin]), length};
  data = begin + length;
  return std::nullopt;
}

}  // namespace

bool begins_as_npy(Bytes first) {
  const std::string_view text(reinterpret_cast<const char*>(first.data()), first.size());
  return text.starts_with(kMagic);
}

std::optional<ArrayElement> numpy_element(std::string_view code) {
  constexpr std::array<std::string_view, kArrayElements> kCodes = {
      "b1", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "", "f4", "f8"};
  if (code == "?") return ArrayElement::boolean;
  for (std::size_t i = 0; i < kCodes.size(); ++i) {
    if (!code.empty() && code == kCodes[i]) return static_cast<ArrayElement>(i);
  }
  return std::nullopt;
}

std::optional<Fault> read_npy_layout(ArrayLayout& out, std::size_t& data, Bytes first) {
  std::string_view text;
  if (auto fault = find_text(text, data, first)) return fault;
  const std::size_t begin = data - text.size();
  Head head;
  if (!parse(head, text)) {
    if (head.structured) return unsupported_source(kFormat, "a structured type", begin);
    return damaged_source(kFormat, "the head is no dictionary of the known form", begin);
  }
  std::string_view code = head.descr;
  const char order = code.empty() ? ' ' : code[0];
  if (std::string_view("<>|=").find(order) != std::string_view::npos) code.remove_prefix(1);
  const std::optional<ArrayElement> element = numpy_element(code);
  if (!element) {
    return unsupported_source(
        kFormat,
        fmt::format("elements of type '{}'{}", printable(std::string(head.descr)),
                    code.starts_with("O") ? ": Python objects are not loaded" : ""),
        begin);
  }
  out.type = {*element, std::move(head.shape)};
  out.big_endian = order == '>';
  const auto steps = head.fortran_order ? fortran_order_steps(out.type) : c_order_steps(out.type);
  if (!steps) return damaged_source(kFormat, "its shape is over 64 bits", begin);
  out.steps = *steps;
  return std::nullopt;
}

}  // namespace tundish
