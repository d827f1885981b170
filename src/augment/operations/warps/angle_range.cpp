#include "augment/operations/warps/angle_range.h"

#include <cmath>

#include "base/fields_json.h"

namespace tundish {

Json json_of(const AngleRange& range) { return Json::array({range.low, range.high}); }

Json json_of(const ShearRange& range) {
  if (range.y == AngleRange{}) return json_of(range.x);
  return Json::array({range.x.low, range.x.high, range.y.low, range.y.high});
}

bool read_json(AngleRange& to, const Json& from) {
  std::vector<double> numbers;
  if (!read_numbers(numbers, from)) return false;
  if (!from.is_array()) {
    to = {-numbers[0], numbers[0]};
    return numbers[0] >= 0;
  }
  if (numbers.size() != 2) return false;
  to = {numbers[0], numbers[1]};
  return true;
}

bool read_json(ShearRange& to, const Json& from) {
  to = {};
  if (!from.is_array() || from.size() != 4) return read_json(to.x, from);
  std::vector<double> numbers;
  if (!read_numbers(numbers, from)) return false;
  to = {{numbers[0], numbers[1]}, {numbers[2], numbers[3]}};
  return true;
}

template <>
std::string wanted_text<AngleRange>(const FieldInfo&) {
  return "an angle of at least 0, or the lowest and the highest angle";
}

template <>
std::string wanted_text<ShearRange>(const FieldInfo&) {
  return "an angle of at least 0, or the lowest and the highest angle, of x or of x and y";
}

void check_angles(const char* owner, const char* field, const AngleRange& range) {
  if (std::abs(range.low) > kMaxAngle || std::abs(range.high) > kMaxAngle) {
    refuse_argument(owner, fmt::format("{} must be angles from {} to {}, not ({}, {})", field,
                                       -kMaxAngle, kMaxAngle, range.low, range.high));
  }
  if (range.low <= range.high) return;
  refuse_argument(owner, fmt::format("{}: the lowest angle ({}) is above the highest ({})", field,
                                     range.low, range.high));
}

double draw_float(Random& random, double low, double high) {
  const auto from = static_cast<float>(low), to = static_cast<float>(high);
  const float share = static_cast<float>(random.next() >> 40) * 0x1p-24f;
  return share * (to - from) + from;
}

}  // namespace tundish
