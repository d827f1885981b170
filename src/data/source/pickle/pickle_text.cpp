#include "data/source/pickle/pickle_text.h"

#include <cstddef>
#include <cstdint>

namespace tundish {
namespace {

// Parses exactly `digits` hexadecimal digits at the front.
std::optional<std::uint32_t> hex(std::string_view text, std::size_t digits) {
  if (text.size() < digits) return std::nullopt;
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < digits; ++i) {
    const char c = text[i];
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return std::nullopt;
    value = value * 16 + static_cast<std::uint32_t>(digit);
  }
  return value;
}

void append_utf8(std::string& out, std::uint32_t point) {
  const auto add = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (point < 0x80) {
    add(point);
  } else if (point < 0x800) {
    add(0xc0 | point >> 6), add(0x80 | (point & 63));
  } else if (point < 0x10000) {
    add(0xe0 | point >> 12), add(0x80 | (point >> 6 & 63)), add(0x80 | (point & 63));
  } else {
    add(0xf0 | point >> 18), add(0x80 | (point >> 12 & 63));
    add(0x80 | (point >> 6 & 63)), add(0x80 | (point & 63));
  }
}

}  // namespace

std::optional<std::string> unquote_python(std::string_view line) {
  if (line.size() < 2 || (line[0] != '\'' && line[0] != '"') || line.back() != line[0]) {
    return std::nullopt;
  }
  line = line.substr(1, line.size() - 2);
  constexpr std::string_view kLetters = "ntrab fv\\'\"", kMeanings = "\n\t\r\a\b \f\v\\'\"";
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\\') {
      out += line[i];
      continue;
    }
    if (++i == line.size()) return std::nullopt;
    if (line[i] == 'x') {
      const auto value = hex(line.substr(i + 1), 2);
      if (!value) return std::nullopt;
      out += static_cast<char>(*value);
      i += 2;
      continue;
    }
    const std::size_t letter = kLetters.find(line[i]);
    if (letter == std::string_view::npos || line[i] == ' ') return std::nullopt;
    out += kMeanings[letter];
  }
  return out;
}

std::optional<std::string> unescape_unicode(std::string_view line) {
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const bool escape =
        line[i] == '\\' && i + 1 < line.size() && (line[i + 1] == 'u' || line[i + 1] == 'U');
    if (!escape) {
      append_utf8(out, static_cast<unsigned char>(line[i]));
      continue;
    }
    const std::size_t digits = line[i + 1] == 'u' ? 4 : 8;
    const auto point = hex(line.substr(i + 2), digits);
    if (!point || *point > 0x10ffff) return std::nullopt;
    append_utf8(out, *point);
    i += 1 + digits;
  }
  return out;
}

std::optional<std::string> encode_latin1(std::string_view utf8) {
  std::string out;
  out.reserve(utf8.size());
  for (std::size_t i = 0; i < utf8.size(); ++i) {
    const auto byte = static_cast<unsigned char>(utf8[i]);
    if (byte < 0x80) {
      out += utf8[i];
      continue;
    }
    if ((byte != 0xc2 && byte != 0xc3) || i + 1 == utf8.size()) return std::nullopt;
    const auto next = static_cast<unsigned char>(utf8[++i]);
    if ((next & 0xc0) != 0x80) return std::nullopt;
    out += static_cast<char>((byte & 3) << 6 | (next & 63));
  }
  return out;
}

}  // namespace tundish
