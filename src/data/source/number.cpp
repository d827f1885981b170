#include "data/source/number.h"

#include <fmt/format.h>

#include <string>

namespace tundish {
namespace {

constexpr std::size_t kMaxDigits = 40;  // more than any table of measurements contains

// Returns the significant digits of the number: "12" for "-0.0120e5".
std::string significant_digits(std::string_view text) {
  std::string digits;
  for (const char c : text.substr(0, text.find_first_of("eE"))) {
    if (c < '0' || c > '9') continue;
    if (c != '0' || !digits.empty()) digits += c;
  }
  digits.erase(digits.find_last_not_of('0') + 1);  // npos + 1 == 0
  return digits;
}

}  // namespace

bool is_exact_number(std::string_view text) {
  const std::optional<double> value = parse_number(text);
  if (!value) return false;
  const std::string_view plain = text.substr(text.starts_with('-'));
  if (plain.size() > 1 && plain[0] == '0' && plain[1] >= '0' && plain[1] <= '9') return false;
  const std::string digits = significant_digits(text);
  if (digits.size() > kMaxDigits) return false;
  if (digits.empty()) return true;  // zero
  return significant_digits(fmt::format("{:.{}e}", *value, digits.size() - 1)) == digits;
}

}  // namespace tundish
