#include "source/names.h"

#include <algorithm>
#include <array>
#include <cstdint>

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

}  // namespace tundish
