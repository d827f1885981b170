// Splits the names of tar members into sample and kind.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "data/source/names.h"

namespace tundish {

// "a/b.mask.png" -> "a/b" and "mask.png"; empty for names that belong to no sample.
struct SplitName {
  std::string_view stem;
  std::string_view kind;
};

inline std::optional<SplitName> split_name(std::string_view path) {
  const std::size_t base = path.rfind('/') + 1;  // npos + 1 == 0
  const std::size_t dot = path.find('.', base);
  if (dot == std::string_view::npos || dot == base) return {};
  return SplitName{path.substr(0, dot), path.substr(dot + 1)};
}

inline std::string member_path(const std::string& name) {
  std::string path = clean_path("/" + name);  // an absolute path cannot lead above the root
  return path.substr(1);
}

// Not named "quoted": with <iomanip>, a call with a std::string would select std::quoted.
inline std::string in_quotes(std::string_view text) {
  return '\'' + printable(std::string(text)) + '\'';
}

}  // namespace tundish
