// Converts self-describing structs (base/fields.h) to JSON and back.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/fields.h"

namespace tundish {

using Json = nlohmann::ordered_json;  // keeps fields in the order of their description

// Parses a text. Throws Error(argument) for invalid JSON, duplicate keys, nesting deeper than
// kMaxJsonDepth (the parser recurses) and objects with more than kMaxJsonKeys keys (Json searches
// keys linearly, so parsing an object takes quadratic time).
constexpr int kMaxJsonDepth = 16;
constexpr std::size_t kMaxJsonKeys = 256;
Json parse_json(const std::string& text);

// Formats a value for a message, truncated if it is long.
constexpr std::size_t kMaxShown = 60;
std::string shown(const Json& value);
// Formats text from a file through printable(), truncated to `most` bytes.
std::string shown_text(const std::string& text, std::size_t most = kMaxShown);

// --- values ----------------------------------------------------------------------------------

template <class T>
Json json_of_value(const T& value) {
  if constexpr (IsOptional<T>::value) {
    return value ? json_of_value(*value) : Json();
  } else if constexpr (Worded<T>) {
    return words(value)[static_cast<std::size_t>(value)];
  } else if constexpr (std::is_same_v<T, Padding>) {
    return Json{value.left, value.top, value.right, value.bottom};
  } else if constexpr (IsSpread<T>::value) {
    return value.changes() ? Json{value.low, value.high} : Json();
  } else if constexpr (IsScheduled<T>::value) {
    const auto& first = value.at(0);
    if (value.later.empty()) return json_of_value(first);
    Json out{{"0", json_of_value(first)}};
    for (const auto& [epoch, size] : value.later) out[std::to_string(epoch)] = json_of_value(size);
    return out;
  } else if constexpr (std::is_base_of_v<Size, T>) {
    if (std::is_same_v<T, SideOrSize> && value.height == 0) return value.width;
    return Json{value.height, value.width};
  } else if constexpr (requires { json_of(value); }) {
    return json_of(value);
  } else if constexpr (std::is_same_v<T, PerChannel>) {
    Json out = static_cast<const std::array<double, 3>&>(value);
    if (value.fourth) out.push_back(*value.fourth);
    return out;
  } else {
    return value;
  }
}

// Returns false if the JSON has another type. CheckRanges checks ranges later.
template <class T>
bool read_value(T& to, const Json& from);

template <class T>
bool read_number(T& to, const Json& from) {
  if constexpr (std::is_floating_point_v<T>) {
    if (!from.is_number()) return false;
    to = from.get<T>();
    return true;
  } else if (from.is_number_unsigned()) {
    const auto value = from.get<std::uint64_t>();
    to = static_cast<T>(value);
    return std::in_range<T>(value);
  } else {
    if (!from.is_number_integer()) return false;
    const auto value = from.get<std::int64_t>();
    to = static_cast<T>(value);
    return std::in_range<T>(value);
  }
}

// Reads a list of numbers. A single number counts as a list of one.
template <class T>
bool read_numbers(std::vector<T>& to, const Json& from) {
  if (!from.is_array()) return read_number(to.emplace_back(), from);
  for (const Json& one : from) {
    if (!read_number(to.emplace_back(), one)) return false;
  }
  return true;
}

bool read_size(Size& to, bool one_is_shorter_side, const Json& from);
// Reads a number used as an object's key: "10". Returns false for "010", "-1" and "1.0".
bool read_epoch(std::uint64_t& to, const std::string& from);
bool read_padding(Padding& to, const Json& from);
bool read_fill(Fill& to, const Json& from);
bool read_per_channel(PerChannel& to, const Json& from);
// `low` and `high` hold the center on entry and keep it for None.
bool read_spread(double& low, double& high, const Json& from);

// Reads one size, or an object that maps epochs to sizes: {"0": 128, "10": 160}.
template <class T>
bool read_schedule(Scheduled<T>& to, const Json& from) {
  to = {};
  if (!from.is_object()) return read_size(to, std::is_same_v<T, SideOrSize>, from);
  bool begins = false;
  for (const auto& [key, value] : from.items()) {
    std::pair<std::uint64_t, T> one;
    if (!read_epoch(one.first, key) || !read_value(one.second, value)) return false;
    begins |= one.first == 0;
    if (one.first == 0) {
      static_cast<T&>(to) = one.second;
    } else {
      to.later.push_back(one);
    }
  }
  std::sort(to.later.begin(), to.later.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  return begins;
}

template <class T>
bool read_value(T& to, const Json& from) {
  if constexpr (IsOptional<T>::value) {
    if (from.is_null()) {
      to.reset();
      return true;
    }
    return read_value(to.emplace(), from);
  } else if constexpr (Worded<T>) {
    if (!from.is_string()) return false;
    const auto names = words(T{});
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (from.get_ref<const std::string&>() != names[i]) continue;
      to = static_cast<T>(i);
      return true;
    }
    return false;
  } else if constexpr (requires { read_json(to, from); }) {
    return read_json(to, from);
  } else if constexpr (std::is_same_v<T, bool>) {
    if (!from.is_boolean()) return false;
    to = from.get<bool>();
    return true;
  } else if constexpr (std::is_same_v<T, Fill>) {
    return read_fill(to, from);
  } else if constexpr (std::is_same_v<T, PerChannel>) {
    return read_per_channel(to, from);
  } else if constexpr (std::is_same_v<T, Padding>) {
    return read_padding(to, from);
  } else if constexpr (IsSpread<T>::value) {
    to = {};
    return read_spread(to.low, to.high, from);
  } else if constexpr (IsScheduled<T>::value) {
    return read_schedule(to, from);
  } else if constexpr (std::is_base_of_v<Size, T>) {
    return read_size(to, std::is_same_v<T, SideOrSize>, from);
  } else if constexpr (ArrayOf<T>::kSize > 0) {
    if (!from.is_array() || from.size() != to.size()) return false;
    for (std::size_t i = 0; i < to.size(); ++i) {
      if (!read_number(to[i], from[i])) return false;
    }
    return true;
  } else if constexpr (std::is_arithmetic_v<T>) {
    return read_number(to, from);
  } else {
    if (!from.is_string()) return false;
    to = from.get<std::string>();
    return true;
  }
}

// --- structs ---------------------------------------------------------------------------------
// The functions that are no templates keep the templates small: hundreds of fields use them.

// The value of a field and its description.
struct FieldValue {
  FieldInfo field;
  Json value;
};

// Returns the fields whose values differ from `usual`; only FieldInfo::saved ones if `saved`.
Json changed_fields(std::vector<FieldValue> fields, const std::vector<FieldValue>& usual,
                    bool saved);

template <class T>
std::vector<FieldValue> values_of_fields(const T& described) {
  std::vector<FieldValue> out;
  T::fields(described, [&](const FieldInfo& field, const auto& value) {
    out.push_back(FieldValue{field, json_of_value(value)});
  });
  return out;
}

// Returns every field, including defaults. Each key starts with `prefix`.
template <class T>
Json json_of_all_fields(const T& described, const std::string& prefix = "") {
  Json out = Json::object();
  T::fields(described, [&](const FieldInfo& field, const auto& value) {
    out[prefix + field.name] = json_of_value(value);
  });
  return out;
}

// Returns the fields that differ from their defaults; only FieldInfo::saved ones if `saved`.
template <class T>
Json json_of_fields(const T& described, bool saved = false) {
  return changed_fields(values_of_fields(described), values_of_fields(T{}), saved);
}

// The arguments of one object, read field by field.
class FieldReader {
 public:
  FieldReader(const Json& from, const std::string& owner, bool saved);
  // Returns the value that the object has for the field, or null.
  const Json* find(const FieldInfo& field);
  [[noreturn]] void refuse(const FieldInfo& field, const std::string& wanted) const;
  // Throws Error(argument) for a key that no field has; "name" is allowed.
  void refuse_unknown_names() const;

 private:
  const Json& from_;
  const std::string& owner_;
  const bool saved_;
  std::vector<std::string> names_;
};

// Sets the fields that the object names. Throws Error(argument) for an unknown field or a value of
// the wrong type. Does not check ranges. `saved`: allows FieldInfo::saved fields only.
template <class T>
void read_fields(T& to, const Json& from, const std::string& owner, bool saved = false) {
  FieldReader reader(from, owner, saved);
  T::fields(to, [&](const FieldInfo& field, auto& value) {
    const Json* found = reader.find(field);
    if (found && !read_value(value, *found)) {
      reader.refuse(field, wanted_text<std::decay_t<decltype(value)>>(field));
    }
  });
  reader.refuse_unknown_names();
}

Json field_reference(const FieldInfo& field, const std::string& wanted, Json usual);

// Returns the entry of the reference page: {name, about, fields: [{name, wanted, default, about}]}.
template <class T>
Json reference_of(const char* name = T::kName, const char* about = T::kAbout) {
  Json fields = Json::array();
  const T usual{};
  T::fields(usual, [&](const FieldInfo& field, const auto& value) {
    fields.push_back(field_reference(field, wanted_text<std::decay_t<decltype(value)>>(field),
                                     json_of_value(value)));
  });
  return {{"name", name}, {"about", about}, {"fields", std::move(fields)}};
}

}  // namespace tundish
