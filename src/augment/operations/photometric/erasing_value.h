// RandomErasing's value: a number, three numbers, or "random".
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/fields_json.h"

namespace tundish {

struct ErasingValue {
  bool random = false;
  std::array<double, 3> number{};
  bool operator==(const ErasingValue&) const = default;
};

template <>
inline std::string wanted_text<ErasingValue>(const FieldInfo&) {
  return "a number, three numbers, or \"random\"";
}

inline Json json_of(const ErasingValue& value) {
  return value.random ? Json("random") : Json(value.number);
}

inline bool read_json(ErasingValue& to, const Json& from) {
  to.random = from.is_string() && from.get_ref<const std::string&>() == "random";
  if (to.random) return true;
  std::vector<double> numbers;
  if (!read_numbers(numbers, from) || (numbers.size() != 1 && numbers.size() != 3)) return false;
  if (numbers.size() == 1) numbers.resize(3, numbers[0]);
  std::copy(numbers.begin(), numbers.end(), to.number.begin());
  return true;
}

}  // namespace tundish
