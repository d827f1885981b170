#include "data/source/views/pattern.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "data/source/folder_entries.h"
#include "data/source/names.h"
#include "data/source/views/glob.h"

namespace tundish {
namespace {

constexpr std::size_t kMostPaths = 1'000'000;

bool has_glob(std::string_view text) { return text.find_first_of("*?[") != text.npos; }

std::optional<std::uint64_t> whole(std::string_view text) {
  std::uint64_t out = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (text.empty() || error != std::errc{} || at != text.data() + text.size()) return {};
  return out;
}

bool exists(const std::string& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0;
}

// Expands the text between braces: "000..012" or "a,b"; empty for other texts. Throws Error.
std::vector<std::string> alternatives(std::string_view inside) {
  std::vector<std::string> out;
  if (const std::size_t dots = inside.find(".."); dots != inside.npos) {
    const std::string_view from_text = inside.substr(0, dots);
    const auto from = whole(from_text), to = whole(inside.substr(dots + 2));
    if (!from || !to) return {};
    if (*from > *to || *to - *from >= kMostPaths) {
      throw Error(ErrorCode::argument, {.file = "{" + std::string(inside) + "}"},
                  *from > *to ? "it counts down: write the smaller number first"
                              : "it stands for over a million files");
    }
    const std::uint64_t count = *to - *from + 1;
    for (std::uint64_t i = 0; i < count; ++i) {
      out.push_back(fmt::format("{:0{}}", *from + i, std::min<std::size_t>(from_text.size(), 20)));
    }
    return out;
  }
  if (inside.find(',') == inside.npos) return {};
  for (std::size_t begin = 0; begin <= inside.size();) {
    const std::size_t end = std::min(inside.find(',', begin), inside.size());
    out.emplace_back(inside.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

struct Braces {
  std::size_t open = 0, close = 0;
  std::vector<std::string> texts;
};

// Finds the first braces that expand to several texts.
std::optional<Braces> find_braces(std::string_view path) {
  for (std::size_t open = path.find('{'); open != path.npos; open = path.find('{', open + 1)) {
    const std::size_t close = path.find('}', open);
    if (close == path.npos) return {};
    if (path.find('{', open + 1) < close) return {};  // nested braces
    Braces out{open, close, alternatives(path.substr(open + 1, close - open - 1))};
    if (!out.texts.empty()) return out;
  }
  return {};
}

std::vector<std::string> expand_braces(const std::string& path) {
  std::vector<std::string> out = {path};
  while (true) {
    const auto braces = find_braces(out.front());  // all have the same braces left
    if (!braces) return out;
    std::vector<std::string> next;
    if (out.size() > kMostPaths / braces->texts.size()) {
      throw Error(ErrorCode::argument, {.file = path},
                  "the pattern stands for over a million files");
    }
    for (const std::string& one : out) {
      const std::size_t left = one.size() - (out.front().size() - braces->close) + 1;
      const std::size_t begin = left - (braces->close - braces->open) - 1;
      for (const std::string& text : braces->texts) {
        next.push_back(one.substr(0, begin) + text + one.substr(left));
      }
    }
    out = std::move(next);
  }
}

// Returns files of a folder whose names match.
std::vector<std::string> list_matches(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == path.npos ? "" : path.substr(0, slash + 1);
  const std::string pattern = path.substr(folder.size());
  if (has_glob(folder) && !exists(folder)) {
    throw Error(ErrorCode::argument, {.file = path},
                "*, ? and [ may be in the last part of a path only");
  }
  std::vector<std::string> names;
  visit_folder(folder.empty() ? "." : folder, [&](const FolderEntry& entry) {
    const bool hidden = entry.name.starts_with('.') && !pattern.starts_with('.');
    if (entry.is_file && !hidden && matches_glob(pattern, entry.name)) names.push_back(entry.name);
    return true;
  });
  std::sort(names.begin(), names.end(), name_before);
  for (std::string& name : names) name = folder + name;
  return names;
}

}  // namespace

bool is_pattern(const std::string& path) {
  try {
    return has_glob(path) || find_braces(path).has_value();
  } catch (const Error&) {
    return true;  // expand_pattern() reports the fault
  }
}

std::vector<std::string> expand_pattern(const std::string& path) {
  std::vector<std::string> out;
  for (const std::string& one : expand_braces(path)) {
    if (!has_glob(one) || exists(one)) {
      out.push_back(one);
      continue;
    }
    for (std::string& name : list_matches(one)) out.push_back(std::move(name));
  }
  std::vector<std::string> sorted = out;
  std::sort(sorted.begin(), sorted.end());
  if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end()) {
    throw Error(ErrorCode::argument, {.file = path},
                fmt::format("the pattern names {} twice", printable(*twice)));
  }
  if (out.empty()) {
    throw Error(ErrorCode::source_missing, {.file = path}, "no file matches this pattern");
  }
  return out;
}

}  // namespace tundish
