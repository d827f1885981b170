// For tests: TFRecord files and their messages, written in a simple way.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "base/crc32c.h"

namespace tundish {

inline std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 128; value >>= 7) out += static_cast<char>(value | 128);
  return out + static_cast<char>(value);
}

template <class T>
std::string raw(T value) {
  std::string out(sizeof value, '\0');
  std::memcpy(out.data(), &value, sizeof value);
  return out;
}

// Encodes a field of a message whose value is a message, text or packed list.
inline std::string inner(int number, const std::string& value) {
  return varint(static_cast<std::uint64_t>(number) << 3 | 2) + varint(value.size()) + value;
}

inline std::string bytes_list(const std::vector<std::string>& values) {
  std::string list;
  for (const std::string& value : values) list += inner(1, value);
  return inner(1, list);
}
inline std::string float_list(const std::vector<float>& values, bool packed = true) {
  std::string list;
  for (const float value : values) list += (packed ? "" : varint(1 << 3 | 5)) + raw(value);
  return inner(2, packed ? inner(1, list) : list);
}
inline std::string int64_list(const std::vector<std::int64_t>& values, bool packed = true) {
  std::string list;
  for (const std::int64_t value : values) {
    list += (packed ? "" : varint(1 << 3)) + varint(static_cast<std::uint64_t>(value));
  }
  return inner(3, packed ? inner(1, list) : list);
}

using TfNamed = std::vector<std::pair<std::string, std::string>>;

inline std::string tf_map(const TfNamed& values) {
  std::string out;
  for (const auto& [name, value] : values) out += inner(1, inner(1, name) + inner(2, value));
  return out;
}
inline std::string tf_example(const TfNamed& features) { return inner(1, tf_map(features)); }

inline std::uint32_t masked_crc(const std::string& text) {
  return mask_crc(crc32c_reference(std::as_bytes(std::span(text))));
}
inline std::string tf_record(const std::string& data) {
  const std::string length = raw(std::uint64_t{data.size()});
  return length + raw(masked_crc(length)) + data + raw(masked_crc(data));
}

}  // namespace tundish
