// An argument that is one number or two, like torchvision's ranges; one number sets both.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "base/fields_json.h"

namespace tundish {

template <class T>
struct OneOrTwo : std::array<T, 2> {
  const std::array<T, 2>& pair() const { return *this; }
  bool operator==(const OneOrTwo&) const = default;
};

template <class T>
struct ArrayOf<OneOrTwo<T>> : ArrayOf<std::array<T, 2>> {};  // CheckRanges checks both

template <>
inline std::string wanted_text<OneOrTwo<double>>(const FieldInfo& field) {
  return "one number or two" + range_text(field);
}
template <>
inline std::string wanted_text<OneOrTwo<int>>(const FieldInfo& field) {
  return "one whole number or two" + range_text(field);
}

template <class T>
Json json_of(const OneOrTwo<T>& value) {
  return Json{value[0], value[1]};
}

template <class T>
bool read_json(OneOrTwo<T>& to, const Json& from) {
  std::vector<T> numbers;
  if (!read_numbers(numbers, from) || numbers.empty() || numbers.size() > 2) return false;
  to[0] = numbers.front();
  to[1] = numbers.back();
  return true;
}

}  // namespace tundish
