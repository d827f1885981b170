#include "source/names.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace tundish {
namespace {

unsigned char byte_at(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}

// The code point at `i`, which moves behind it.
std::uint32_t next_code_point(std::string_view text, std::size_t& i) {
  const std::uint32_t lead = byte_at(text, i++);
  if (lead < 0x80) return lead;
  const std::size_t more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
  std::uint32_t point = lead & (0x3fu >> more);
  bool valid = lead >= 0xc2 && lead < 0xf5 && text.size() - i >= more;
  for (std::size_t k = 0; valid && k < more; ++k) {
    const std::uint32_t byte = byte_at(text, i + k);
    valid = (byte & 0xc0) == 0x80;
    point = point << 6 | (byte & 0x3f);
  }
  if (more == 2) valid = valid && point >= 0x800 && (point < 0xd800 || point > 0xdfff);
  if (more == 3) valid = valid && point >= 0x10000 && point <= 0x10ffff;
  if (!valid) return 0xdc00 + lead;
  i += more;
  return point;
}

}  // namespace

bool name_before(std::string_view a, std::string_view b) {
  const auto [at_a, at_b] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  const bool plain = (at_a == a.end() || static_cast<unsigned char>(*at_a) < 0x80) &&
                     (at_b == b.end() || static_cast<unsigned char>(*at_b) < 0x80);
  if (plain) return at_b != b.end() && (at_a == a.end() || *at_a < *at_b);
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    const std::uint32_t left = next_code_point(a, i);
    const std::uint32_t right = next_code_point(b, j);
    if (left != right) return left < right;
  }
  return i == a.size() && j < b.size();
}

bool has_image_ending(std::string_view name) {
  static constexpr std::array<std::string_view, 10> kEndings = {
      ".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp", ".npy"};
  const std::string tail = lower(name.substr(name.size() - std::min<std::size_t>(name.size(), 5)));
  return std::any_of(kEndings.begin(), kEndings.end(),
                     [&](std::string_view ending) { return tail.ends_with(ending); });
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::string join_path(std::string_view folder, std::string_view name) {
  std::string out(folder);
  if (!out.empty() && out.back() != '/') out += '/';
  return out += name;
}

std::string clean_path(std::string_view path) {
  const bool absolute = path.starts_with('/');
  std::vector<std::string_view> parts;
  for (std::size_t from = 0; from < path.size();) {
    const std::size_t to = std::min(path.find('/', from), path.size());
    const std::string_view part = path.substr(from, to - from);
    from = to + 1;
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      parts.push_back(part);
    } else if (!parts.empty() && parts.back() != "..") {
      parts.pop_back();
    } else if (!absolute) {
      parts.push_back(part);
    }
  }
  std::string out = absolute ? "/" : "";
  for (const std::string_view part : parts) out = join_path(out, part);
  return out;
}

bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const std::uint32_t point = next_code_point(text, i);
    if (point >= 0xdc80 && point <= 0xdcff) return false;
  }
  return true;
}

}  // namespace tundish
