#include "codec/decode/orientation/png_orientation.h"

#include <libdeflate.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "codec/decode/orientation/exif.h"

namespace tundish {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t kSignatureBytes = 8;
constexpr std::size_t kFrameBytes = 12;     // per chunk: length, type, checksum
constexpr std::size_t kMaxText = 1 << 20;   // bytes of a text chunk; Pillow refuses longer ones
constexpr std::size_t kLinesBeforeHex = 3;  // in a profile: an empty line, the name, the length

std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Bytes bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

// Cuts `text` after the first zero and returns the part before it.
std::optional<std::string_view> take_word(std::string_view& text) {
  const std::size_t end = text.find('\0');
  if (end == text.npos) return std::nullopt;
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end + 1);
  return word;
}

std::optional<std::string> inflate(std::string_view stream) {
  const std::unique_ptr<libdeflate_decompressor, decltype(&libdeflate_free_decompressor)> inflater(
      libdeflate_alloc_decompressor(), &libdeflate_free_decompressor);
  if (!inflater) return std::nullopt;
  std::string out(kMaxText, '\0');
  std::size_t size = 0;
  if (libdeflate_zlib_decompress(inflater.get(), stream.data(), stream.size(), out.data(),
                                 out.size(), &size) != LIBDEFLATE_SUCCESS) {
    return std::nullopt;
  }
  out.resize(size);
  return out;
}

// Returns the text of a tEXt, zTXt or iTXt chunk with this keyword.
std::optional<std::string> read_text(std::string_view type, std::string_view data,
                                     std::string_view keyword) {
  const auto word = take_word(data);
  if (!word || *word != keyword) return std::nullopt;
  bool is_compressed = type == "zTXt"sv;
  if (type == "iTXt"sv) {
    if (data.size() < 2 || (data[0] != 0 && data[1] != 0)) return std::nullopt;
    is_compressed = data[0] != 0;
    data.remove_prefix(2);
    if (!take_word(data) || !take_word(data)) return std::nullopt;  // language, translated keyword
  } else if (is_compressed) {
    if (data.empty() || data[0] != 0) return std::nullopt;
    data.remove_prefix(1);
  }
  return is_compressed ? inflate(data) : std::string(data);
}

// Decodes a profile written in hexadecimal digits.
std::optional<std::string> read_profile(std::string_view text) {
  for (std::size_t line = 0; line < kLinesBeforeHex; ++line) {
    const std::size_t end = text.find('\n');
    if (end == text.npos) return std::nullopt;
    text.remove_prefix(end + 1);
  }
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string digits, out;
  for (const char c : text) {
    if (c == ' ' || (c >= '\t' && c <= '\r')) continue;
    const std::size_t digit = kDigits.find(static_cast<char>(c >= 'A' && c <= 'F' ? c + 32 : c));
    if (digit == kDigits.npos) return std::nullopt;
    digits.push_back(static_cast<char>(digit));
  }
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    out.push_back(static_cast<char>(digits[i] << 4 | digits[i + 1]));
  }
  constexpr std::string_view kMark = "Exif\0\0"sv;
  return out.starts_with(kMark) ? out.substr(kMark.size()) : out;
}

struct Found {
  bool has_exif = false;
  std::optional<std::uint8_t> exif, profile, xmp;

  void read(std::string_view type, Bytes data) {
    if (type == "eXIf"sv) {
      exif = exif_orientation(data);
      has_exif = true;
    } else if (type == "tEXt"sv || type == "zTXt"sv || type == "iTXt"sv) {
      if (const auto text = read_text(type, text_of(data), "Raw profile type exif"sv)) {
        const auto tiff = read_profile(*text);
        profile = tiff ? exif_orientation(bytes_of(*tiff)) : std::nullopt;
      } else if (const auto packet = read_text(type, text_of(data), "XML:com.adobe.xmp"sv)) {
        xmp = xmp_orientation(bytes_of(*packet));
      }
    }
  }
};

}  // namespace

std::uint8_t png_orientation(Bytes file) {
  Found found;
  std::size_t at = kSignatureBytes;
  while (at + kFrameBytes <= file.size()) {
    const std::size_t length = __builtin_bswap32(load<std::uint32_t>(&file[at]));
    const std::string_view type = text_of(file.subspan(at + 4, 4));
    if (type == "IEND"sv || length > file.size() - at - kFrameBytes) break;
    found.read(type, file.subspan(at + 8, length));
    at += length + kFrameBytes;
  }
  const auto exif = found.has_exif ? found.exif : found.profile;
  return exif ? *exif : found.xmp.value_or(1);
}

}  // namespace tundish
