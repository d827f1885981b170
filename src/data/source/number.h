// Parses numbers written as text.
#pragma once

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

namespace tundish {

// Parses the whole text as a finite number: "12", "-0.5", "1e3"; empty for "", " 1", "nan",
// "1e999". Independent of the locale.
inline std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end || !std::isfinite(value)) return {};
  return value;
}

// Returns true if the text is a number that a double represents without loss: no leading zero or
// plus, and the double, written with as many digits, has the same digits. True for "12", "0.50",
// "1e3"; false for "00123", "+1" and "12345678901234567890", which could be codes.
bool is_exact_number(std::string_view text);

}  // namespace tundish
