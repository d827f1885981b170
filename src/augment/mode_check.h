// What a transform must be for images of another mode than RGB.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>

#include "augment/image_mode.h"
#include "augment/operations/pixels/erasing_value.h"
#include "core/fields.h"

namespace tundish {

// Refuses a field that has a number of its own for red, green and blue.
class CheckOneNumber {
 public:
  explicit CheckOneNumber(const char* owner) : owner_(owner) {}

  template <class T>
  void operator()(const FieldInfo&, const T&) const {}
  void operator()(const FieldInfo& field, const Fill& value) const { check(field, value); }
  void operator()(const FieldInfo& field, const std::optional<Fill>& value) const {
    if (value) check(field, *value);
  }
  void operator()(const FieldInfo& field, const PerChannel& value) const { check(field, value); }
  void operator()(const FieldInfo& field, const ErasingValue& value) const {
    if (!value.random) check(field, value.number);
  }

 private:
  template <class T>
  void check(const FieldInfo& field, const T& value) const {
    if (std::all_of(value.begin(), value.end(), [&](auto one) { return one == value[0]; })) return;
    refuse_argument(owner_, fmt::format("{} must be one number with mode=\"L\", not ({})",
                                        field.name, fmt::join(value, ", ")));
  }

  const char* owner_;
};

// Throws Error(argument) when the transform does something else to images of this mode than Pillow
// and torchvision do.
template <class Op>
void check_mode_of(const Op& op, ImageMode mode) {
  if constexpr (requires { op.check_mode(mode); }) op.check_mode(mode);
  if (mode == ImageMode::l) Op::fields(op, CheckOneNumber(Op::kName));
}

}  // namespace tundish
