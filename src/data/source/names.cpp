#include "data/source/names.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>

#include "base/utf8.h"

namespace tundish {
namespace {

// Returns the code point at `i` and moves `i` past it.
std::uint32_t next_code_point(std::string_view text, std::size_t& i) {
  const std::size_t length = utf8_length(text.substr(i));
  const std::uint32_t lead = static_cast<unsigned char>(text[i++]);
  if (length == 0) return 0xdc00 + lead;
  std::uint32_t point = length == 1 ? lead : lead & (0x7fu >> length);
  for (std::size_t k = 1; k < length; ++k) {
    point = point << 6 | (static_cast<unsigned char>(text[i++]) & 0x3fu);
  }
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

std::vector<std::string> distinct_names(std::span<const std::string> files) {
  std::vector<std::string> out;
  for (const std::string& file : files) out.push_back(file.substr(file.rfind('/') + 1));
  const std::set<std::string> different(out.begin(), out.end());
  if (different.size() == out.size()) return out;
  std::string_view common = files[0];
  for (const std::string& file : files) {
    const auto [end, _] = std::mismatch(common.begin(), common.end(), file.begin(), file.end());
    common = common.substr(0, static_cast<std::size_t>(end - common.begin()));
  }
  const std::size_t folder = common.rfind('/') + 1;  // npos + 1 == 0
  for (std::size_t f = 0; f < out.size(); ++f)
    out[f] = clean_path("/" + files[f].substr(folder)).substr(1);
  return out;
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
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out += '/';
    out += parts[i];
  }
  return out;
}

bool is_clean_key(std::string_view key) {
  const bool outside = key.starts_with('/') || key == ".." || key.starts_with("../");
  return !key.empty() && key.size() <= kMaxKeyBytes && !outside && key.find('\0') == key.npos &&
         key == clean_path(key);
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string_view trim(std::string_view text, std::string_view blanks) {
  const std::size_t from = text.find_first_not_of(blanks);
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(blanks) - from + 1);
}

}  // namespace tundish
