// Texts of pickles of protocol 0, and bytes that were pickled as text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tundish {

// 'a\n\x00' in quotes, as Python 2's repr() writes a str; empty for what is none.
std::optional<std::string> unquote_python(std::string_view line);

// Latin-1 with escapes of 4 or 8 hexadecimal digits (Python's raw-unicode-escape) to UTF-8.
std::optional<std::string> unescape_unicode(std::string_view line);

// UTF-8 of code points below 256 to one byte each, as _codecs.encode(text, "latin1") does.
std::optional<std::string> encode_latin1(std::string_view utf8);

}  // namespace tundish
