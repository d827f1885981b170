// Numbers written as text.
#pragma once

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

namespace tundish {

// The whole text as a finite number: "12", "-0.5", "1e3"; nothing for "", " 1", "nan", "1e999".
// Does not depend on the locale.
inline std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end || !std::isfinite(value)) return {};
  return value;
}

}  // namespace tundish
