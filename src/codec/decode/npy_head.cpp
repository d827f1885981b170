#include "codec/decode/npy_head.h"

#include <fmt/format.h>

#include <array>

#include "base/array_type.h"

namespace tundish {
namespace {

// Tokenizer for the head, a Python dictionary with three known keys. Parses exactly that grammar
// and no other Python.
class Words {
 public:
  explicit Words(std::string_view text) : rest_(text) {}

  bool take(std::string_view word) {
    skip_blanks();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  // Reads a string in single or double quotes, without escapes.
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
    take("L");  // suffix of long numbers written by Python 2
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

// Parses a shape such as "(480, 640, 3)".
bool take_shape(NpyHead& out, Words& words) {
  if (!words.take("(")) return false;
  while (!words.take(")")) {
    const auto side = words.take_number();
    if (!side || out.shape.size() == kMaxArraySides) return false;
    out.shape.push_back(*side);
    if (!words.take(",")) return words.take(")");
  }
  return true;
}

bool take_value(NpyHead& out, std::string_view key, Words& words) {
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

bool parse_dictionary(NpyHead& out, std::string_view text) {
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

}  // namespace

bool begins_as_npy(Bytes first) {
  constexpr std::string_view kMagic = "\x93NUMPY";
  const std::string_view text(reinterpret_cast<const char*>(first.data()), first.size());
  return text.starts_with(kMagic);
}

std::optional<Fault> read_npy_head(NpyHead& out, Bytes bytes) {
  constexpr std::size_t kFixed = 10;  // magic, version, and two bytes of the length
  const Fault cut_off{ErrorCode::image_cut_off, "the file ends inside its header", bytes.size()};
  out = {};
  if (bytes.size() < kFixed) return cut_off;
  const auto version = std::to_integer<int>(bytes[6]);
  if (version < 1 || version > 3 || bytes[7] != std::byte{0}) {
    return Fault{ErrorCode::codec_unsupported,
                 fmt::format(".npy version {}.{}", version, std::to_integer<int>(bytes[7])), 6};
  }
  out.text = version == 1 ? kFixed : kFixed + 2;
  if (bytes.size() < out.text) return cut_off;
  const std::size_t length = version == 1 ? std::size_t{load<std::uint16_t>(&bytes[8])}
                                          : std::size_t{load<std::uint32_t>(&bytes[8])};
  out.data = out.text + length;
  if (bytes.size() < out.data) return cut_off;
  if (!parse_dictionary(out, {reinterpret_cast<const char*>(&bytes[out.text]), length}) &&
      !out.structured) {
    return Fault{ErrorCode::image_header, "the .npy header is no dictionary of the known form",
                 out.text};
  }
  return std::nullopt;
}

std::string_view without_byte_order(std::string_view descr) {
  const bool has_order =
      !descr.empty() && std::string_view("<>|=").find(descr[0]) != std::string_view::npos;
  return has_order ? descr.substr(1) : descr;
}

}  // namespace tundish
