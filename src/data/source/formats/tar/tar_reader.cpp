#include "data/source/formats/tar/tar_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/interruption.h"
#include "data/source/labels.h"

namespace tundish {
namespace {

constexpr std::uint64_t kBlock = 512;
constexpr std::uint64_t kMaxText = 1 << 20;         // bytes of a long name or a pax header
constexpr std::uint64_t kMaxSize = ~0ull >> 1;      // bytes of a member
constexpr std::uint64_t kMaxZeros = 1 << 20;        // searched after an end mark
constexpr std::uint64_t kMaxHeadersInARow = 1'000;  // extended headers without a member

std::uint64_t padding_of(std::uint64_t size) { return (kBlock - size % kBlock) % kBlock; }

std::string_view text_at(Bytes block, std::size_t from, std::size_t length) {
  const std::string_view text(reinterpret_cast<const char*>(block.data()) + from, length);
  return text.substr(0, text.find('\0'));
}

// Parses octal digits between spaces and zeros, or base 256 if the first bit is set (GNU).
std::optional<std::uint64_t> parse_field(Bytes field) {
  std::uint64_t value = 0;
  if ((field[0] & std::byte{0x80}) != std::byte{0}) {
    for (std::size_t i = 0; i < field.size(); ++i) {
      const auto byte =
          std::to_integer<std::uint64_t>(i == 0 ? field[0] & std::byte{0x7f} : field[i]);
      if (value > kMaxSize >> 8) return {};
      value = value << 8 | byte;
    }
    return value;
  }
  std::string_view text = text_at(field, 0, field.size());
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  for (const char c : text) {
    if (c < '0' || c > '7') return {};
    value = value * 8 + static_cast<std::uint64_t>(c - '0');
  }
  return value;
}

bool is_zero(Bytes block) {
  return std::all_of(block.begin(), block.end(), [](std::byte b) { return b == std::byte{0}; });
}

// Sums the header's bytes, with its own field as spaces. Old programs summed signed bytes.
bool checksum_fits(Bytes block) {
  const std::optional<std::uint64_t> stored = parse_field(block.subspan(148, 8));
  std::int64_t plain = 8 * ' ';
  std::int64_t with_sign = 8 * ' ';
  for (std::size_t i = 0; i < kBlock; ++i) {
    if (i >= 148 && i < 156) continue;
    plain += std::to_integer<std::uint8_t>(block[i]);
    with_sign += std::to_integer<std::int8_t>(block[i]);
  }
  return stored && (static_cast<std::int64_t>(*stored) == plain ||
                    static_cast<std::int64_t>(*stored) == with_sign);
}

}  // namespace

struct TarReader::Header {
  std::string name;
  std::uint64_t size;
  char type;
};

bool TarReader::fail(std::string reason) {
  fault_ = Fault{ErrorCode::tar_damaged, std::move(reason), header_at_};
  return false;
}

bool TarReader::read_block() { return stream_.read(block_) == kBlock; }

bool TarReader::check_size(std::uint64_t size, const std::string& name) {
  if (size > kMaxSize) return fail(fmt::format("'{}' has an impossible size", printable(name)));
  const std::optional<std::uint64_t> left = stream_.left();
  if (left && size > *left) {
    return fail(fmt::format("'{}' has {} bytes, but only {} follow: the archive was cut short",
                            printable(name), with_commas(size), with_commas(*left)));
  }
  return true;
}

// Finds the next header that is not an end mark.
bool TarReader::find_header(Header& header) {
  header_at_ = stream_.offset();
  if (!read_block()) return fail("the archive ends without an end mark: it was cut short");
  if (is_zero(block_) && !pass_end()) return false;
  if (!checksum_fits(block_)) {
    return fail(header_at_ == 0 ? "it does not begin with a tar header"
                                : "a header fails its checksum");
  }
  const std::optional<std::uint64_t> size = parse_field(Bytes(block_).subspan(124, 12));
  if (!size) return fail("a header has no readable size");
  header.size = *size;
  header.type = static_cast<char>(block_[156]);
  header.name = text_at(block_, 0, 100);
  // In GNU headers, the place of ustar's name prefix holds other data.
  if (text_at(block_, 257, 6) == "ustar" && block_[262] == std::byte{0}) {
    const std::string_view prefix = text_at(block_, 345, 155);
    if (!prefix.empty()) header.name = std::string(prefix) + '/' + header.name;
  }
  if (header.type == '\0') header.type = header.name.ends_with('/') ? '5' : '0';  // v7
  return true;
}

// Skips the zeros after an end mark. The archive may end there, or continue with another archive.
bool TarReader::pass_end() {
  for (std::uint64_t zeros = 0; zeros < kMaxZeros; zeros += kBlock) {
    header_at_ = stream_.offset();
    if (!read_block()) break;
    if (is_zero(block_)) continue;
    if (checksum_fits(block_)) return true;
    break;
  }
  ended_ = true;
  return false;
}

bool TarReader::read_text(std::string& out, const Header& header) {
  if (header.size > kMaxText) {
    return fail(fmt::format("a header of type '{}' has {} bytes, at most {} are allowed",
                            printable(std::string(1, header.type)), with_commas(header.size),
                            with_commas(kMaxText)));
  }
  if (!check_size(header.size, header.name)) return false;
  out.resize(header.size);
  const std::span<std::byte> room = std::as_writable_bytes(std::span(out));
  const std::uint64_t padding = padding_of(header.size);
  if (stream_.read(room) < room.size() || stream_.skip(padding) < padding) {
    return fail("the archive ends inside a header: it was cut short");
  }
  return true;
}

// Parses records "LENGTH KEY=VALUE\n", where LENGTH counts the whole record.
bool TarReader::parse_pax(Extended& out, const std::string& text) {
  for (std::string_view rest = text; !rest.empty();) {
    std::uint64_t length = 0;
    const char* end = rest.data() + rest.size();
    const auto [at, error] = std::from_chars(rest.data(), end, length);
    const auto digits = static_cast<std::size_t>(at - rest.data());
    if (error != std::errc() || at == end || *at != ' ' || length > rest.size() ||
        length < digits + 2 || rest[length - 1] != '\n') {
      return fail("a pax header is damaged");
    }
    const std::string_view record = rest.substr(digits + 1, length - digits - 2);
    rest.remove_prefix(length);
    const std::size_t equals = record.find('=');
    if (equals == std::string_view::npos) return fail("a pax header is damaged");
    const std::string_view key = record.substr(0, equals);
    const std::string_view value = record.substr(equals + 1);
    if (key == "path" && !value.empty()) out.name = value;
    if (key.starts_with("GNU.sparse.")) out.sparse = true;
    if (key == "size" && !value.empty()) {
      std::uint64_t size = 0;
      const char* value_end = value.data() + value.size();
      const auto parsed = std::from_chars(value.data(), value_end, size);
      if (parsed.ec != std::errc() || parsed.ptr != value_end) {
        return fail("a pax header has no readable size");
      }
      out.size = size;
    }
  }
  return true;
}

bool TarReader::add_extended(Extended& out, const Header& header) {
  std::string text;
  if (!read_text(text, header)) return false;
  if (header.type == 'x' || header.type == 'X') return parse_pax(out, text);
  if (header.type == 'L') out.name = text.substr(0, text.find('\0'));
  if (header.type == 'g') read_comment(text);
  return true;  // K: target of a link
}

// Uses only the class list among comments for the whole archive, and ignores others.
void TarReader::read_comment(std::string_view text) {
  constexpr std::string_view kKey = " comment=";
  const std::size_t key = text.find(kKey);
  if (key == text.npos || !text.ends_with('\n') || !classes_.empty()) return;
  text.remove_suffix(1);
  if (auto classes = read_class_list(text.substr(key + kKey.size()))) {
    classes_ = std::move(*classes);
  }
}

bool TarReader::next(TarMember& out) {
  if (fault_ || ended_) return false;
  Extended extended;
  for (std::uint64_t headers = 0;; ++headers) {
    if (stop_requested()) {
      fault_ = Fault{ErrorCode::interrupted, "", stream_.offset()};
      return false;
    }
    if (stream_.skip(data_) < data_ || stream_.skip(padding_) < padding_) {
      return fail("the archive ends inside a member: it was cut short");
    }
    data_ = padding_ = 0;
    Header header;
    const bool expects_member = extended.name || extended.size || extended.sparse;
    if (!find_header(header)) {
      if (ended_ && expects_member) return fail("the archive ends where a member should follow");
      return false;
    }
    if (std::string_view("xXgLK").find(header.type) != std::string_view::npos) {
      if (headers > kMaxHeadersInARow) return fail("too many extended headers in a row");
      if (!add_extended(extended, header)) return false;
      continue;
    }
    const std::string name = extended.name.value_or(header.name);
    if (header.type == 'M') return fail("it is one part of a multi-volume archive");
    if (header.type == 'S' || extended.sparse) {
      return fail(fmt::format("'{}' is stored with holes (tar --sparse), which is not supported",
                              printable(name)));
    }
    headers = 0;
    const bool link = header.type == '1' || header.type == '2';
    links_ += link;
    // Links, devices, folders and pipes have no data, whatever their size field.
    if (header.type < '1' || header.type > '6') {
      const std::uint64_t size = extended.size.value_or(header.size);
      if (!check_size(size, name)) return false;
      data_ = size;
      padding_ = padding_of(size);
    }
    if (header.type == '0' || header.type == '7') {
      if (name.empty()) return fail("a member has no name");
      if (name.find('\0') != std::string::npos) return fail("a name holds a zero byte");
      out.name = name;
      out.offset = stream_.offset();
      out.size = data_;
      return true;
    }
    extended = {};
  }
}

bool TarReader::read(std::vector<std::byte>& out) {
  out.resize(data_);
  const std::size_t got = stream_.read(out);
  if (got < data_) return fail("the archive ends inside a member: it was cut short");
  data_ = 0;
  return true;
}

}  // namespace tundish
