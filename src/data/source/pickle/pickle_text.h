// Decodes texts of protocol 0 pickles, and bytes that were pickled as text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tundish {

// Decodes 'a\n\x00' in quotes, as written by Python 2's repr() of a str; empty if invalid.
std::optional<std::string> unquote_python(std::string_view line);

// Converts Latin-1 with 4- or 8-digit hexadecimal escapes (Python's raw-unicode-escape) to UTF-8.
std::optional<std::string> unescape_unicode(std::string_view line);

// Converts UTF-8 of code points below 256 to one byte each, like _codecs.encode(text, "latin1").
std::optional<std::string> encode_latin1(std::string_view utf8);

}  // namespace tundish
