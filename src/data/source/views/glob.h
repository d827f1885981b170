// Shell patterns for names, over bytes: * matches any bytes (also slashes), ? one byte, [a-z] one
// byte of a set, [!a-z] one byte outside a set. Time is at most proportional to the product of
// both lengths.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace tundish {

namespace glob_detail {

struct Step {
  bool fits;
  std::size_t next;  // place in the pattern behind the step
};

// Matches one pattern step other than '*' against a byte. A '[' without its ']' is a plain byte.
inline Step match_one(std::string_view pattern, std::size_t at, char byte) {
  if (pattern[at] == '?') return {true, at + 1};
  if (pattern[at] != '[') return {pattern[at] == byte, at + 1};
  std::size_t place = at + 1;
  const bool inverted = place < pattern.size() && pattern[place] == '!';
  place += inverted;
  const std::size_t close = pattern.find(']', place + 1);  // "[]]" is the set of ']'
  if (close == std::string_view::npos) return {byte == '[', at + 1};
  bool found = false;
  const auto value = static_cast<unsigned char>(byte);
  while (place < close) {
    const auto low = static_cast<unsigned char>(pattern[place]);
    const bool range = place + 2 < close && pattern[place + 1] == '-';
    const auto high = range ? static_cast<unsigned char>(pattern[place + 2]) : low;
    found |= low <= value && value <= high;
    place += range ? 3 : 1;
  }
  return {found != inverted, close + 1};
}

}  // namespace glob_detail

inline bool matches_glob(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0;
  std::optional<std::size_t> star;  // behind the last star
  std::size_t star_text = 0;        // end of the text that the last star matches
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = ++p;
      star_text = t;
      continue;
    }
    if (p < pattern.size()) {
      const auto step = glob_detail::match_one(pattern, p, text[t]);
      if (step.fits) {
        p = step.next;
        ++t;
        continue;
      }
    }
    if (!star) return false;
    p = *star;  // the star matches one more byte
    t = ++star_text;
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace tundish
