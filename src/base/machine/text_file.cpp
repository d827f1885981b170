#include "base/machine/text_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>

namespace tundish {
namespace {

constexpr std::string_view kSpaces = " \t\r\n";
constexpr std::size_t kMaxLines = 65'536, kMaxWords = 4'096;

// Returns the rest of the line that starts with `name`.
std::optional<std::string_view> after_name(std::string_view text, std::string_view name) {
  for (const std::string_view line : lines_of(text)) {
    if (!line.starts_with(name)) continue;
    const std::string_view rest = line.substr(name.size());
    const bool whole = !name.empty() && name.back() == ':';
    if (whole || rest.empty() || kSpaces.find(rest[0]) != kSpaces.npos) return rest;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> read_text(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) return std::nullopt;
  struct stat about{};
  std::optional<std::string> out;
  if (::fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode)) out.emplace();
  char block[4096];
  while (out && out->size() < kMaxText) {
    const ssize_t count = ::read(descriptor, block, sizeof block);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) out.reset();
    if (count <= 0) break;
    out->append(block, static_cast<std::size_t>(count));
  }
  ::close(descriptor);
  return out;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kSpaces);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kSpaces) - first + 1);
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty() && out.size() < kMaxLines) {
    const std::size_t end = text.find('\n');
    out.push_back(text.substr(0, end));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return out;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (out.size() < kMaxWords) {
    const std::size_t first = text.find_first_not_of(kSpaces);
    if (first == text.npos) break;
    text.remove_prefix(first);
    const std::size_t end = std::min(text.find_first_of(kSpaces), text.size());
    out.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return out;
}

std::optional<std::uint64_t> parse_integer(std::string_view text) {
  const std::string_view rest = trimmed(text);
  const std::string_view word = rest.substr(0, rest.find_first_of(kSpaces));
  std::uint64_t value = 0;
  const auto [end, fault] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (fault != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  return value;
}

std::optional<double> parse_decimal(std::string_view text) {
  const std::string_view rest = trimmed(text);
  const std::string_view word = rest.substr(0, rest.find_first_of(kSpaces));
  double value = 0;
  const auto [end, fault] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (fault != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  if (!std::isfinite(value) || value < 0) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> number_in(const std::string& path) {
  const std::optional<std::string> text = read_text(path);
  return text ? parse_integer(*text) : std::nullopt;
}

std::optional<std::uint64_t> number_of(std::string_view text, std::string_view name) {
  const std::optional<std::string_view> rest = after_name(text, name);
  return rest ? parse_integer(*rest) : std::nullopt;
}

std::optional<std::string> value_of(std::string_view text, std::string_view name) {
  const std::optional<std::string_view> rest = after_name(text, name);
  if (!rest) return std::nullopt;
  return std::string(trimmed(*rest));
}

}  // namespace tundish
