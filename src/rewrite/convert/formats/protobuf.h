// Writes Google's protocol buffers: consecutive fields of a message.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace tundish {

inline void put_varint(std::string& out, std::uint64_t value) {
  for (; value > 127; value >>= 7) out += static_cast<char>(value | 128);
  out += static_cast<char>(value);
}

inline void put_number(std::string& out, unsigned field, std::uint64_t value) {
  put_varint(out, field << 3);
  put_varint(out, value);
}

// Appends the head of a field of bytes, text or a message; its content follows.
inline void put_length(std::string& out, unsigned field, std::uint64_t bytes) {
  put_varint(out, field << 3 | 2);
  put_varint(out, bytes);
}

inline void put_bytes(std::string& out, unsigned field, std::string_view content) {
  put_length(out, field, content.size());
  out += content;
}

inline std::string_view as_text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace tundish
