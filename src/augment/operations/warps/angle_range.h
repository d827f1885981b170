// Ranges of angles, as arguments of torchvision RandomRotation and RandomAffine.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/fields.h"
#include "base/random.h"

namespace tundish {

// A range in degrees. A single number x means the range -x .. x.
struct AngleRange {
  double low = 0, high = 0;
  bool operator==(const AngleRange&) const = default;
};

// Ranges of the shear along x, and along y if four numbers are given.
struct ShearRange {
  AngleRange x, y;
  bool operator==(const ShearRange&) const = default;
};

inline constexpr double kMaxAngle = 1e9;

nlohmann::ordered_json json_of(const AngleRange& range);
nlohmann::ordered_json json_of(const ShearRange& range);
bool read_json(AngleRange& to, const nlohmann::ordered_json& from);
bool read_json(ShearRange& to, const nlohmann::ordered_json& from);

template <>
std::string wanted_text<AngleRange>(const FieldInfo& field);
template <>
std::string wanted_text<ShearRange>(const FieldInfo& field);

// Throws Error(argument) for low > high, and for angles beyond kMaxAngle.
void check_angles(const char* owner, const char* field, const AngleRange& range);

// Draws like torch.empty(1).uniform_(low, high): 24 random bits, computed in float32.
double draw_float(Random& random, double low, double high);

}  // namespace tundish
