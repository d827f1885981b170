// Checks that a transform supports images of another mode than RGB.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <type_traits>

#include "augment/image_mode.h"
#include "augment/operations/photometric/erasing_value.h"
#include "augment/transform.h"
#include "base/fields.h"

namespace tundish {

// Whether plans of Op only move pixels, or Op runs where elements are stored.
template <class Op>
inline constexpr bool kMovesPixels =
    std::is_same_v<Op, CenterCrop> || std::is_same_v<Op, RandomCrop> || std::is_same_v<Op, Pad> ||
    std::is_same_v<Op, FiveCrop> || std::is_same_v<Op, TenCrop> || std::is_same_v<Op, Resize> ||
    std::is_same_v<Op, RandomResizedCrop> || std::is_same_v<Op, RandomHorizontalFlip> ||
    std::is_same_v<Op, RandomVerticalFlip> || std::is_same_v<Op, RandomApply> ||
    std::is_same_v<Op, RandomChoice> || std::is_same_v<Op, RandomOrder> ||
    std::is_same_v<Op, ToDtype> || std::is_same_v<Op, Normalize>;

// Whether Op supports RGBA: it only moves pixels, or treats every channel alike.
template <class Op>
inline constexpr bool kTakesAlpha =
    kMovesPixels<Op> || std::is_same_v<Op, PadTo> || std::is_same_v<Op, ScaleJitter> ||
    std::is_same_v<Op, RandomShortestSize> || std::is_same_v<Op, RandomResize> ||
    std::is_same_v<Op, RandomRotation> || std::is_same_v<Op, RandomAffine> ||
    std::is_same_v<Op, RandomPerspective> || std::is_same_v<Op, RandomErasing> ||
    std::is_same_v<Op, ResizeKeepRatio> || std::is_same_v<Op, CenterCropOrPad> ||
    std::is_same_v<Op, RandomCropOrPad> || std::is_same_v<Op, TrimBorder>;

template <class Op>
void check_alpha(const Op& op) {
  if constexpr (!kTakesAlpha<Op>) {
    refuse_argument(Op::kName,
                    "is not offered with mode=\"RGBA\", which has crops, flips, Pad, resizes, "
                    "rotations, RandomAffine, RandomPerspective, RandomErasing, ToDtype and "
                    "Normalize; leave it out, or use mode=\"RGB\"");
  } else if constexpr (std::is_same_v<Op, RandomErasing>) {
    if (op.value.random) {
      refuse_argument(Op::kName, "value must be one number with mode=\"RGBA\", not \"random\"");
    }
  }
}

template <class Op>
void check_16_bits(const Op& op) {
  if constexpr (!kMovesPixels<Op>) {
    refuse_argument(Op::kName,
                    "is not offered with mode=\"I;16\", which has crops, flips, Pad, Resize, "
                    "RandomResizedCrop, ToDtype and Normalize");
  } else if constexpr (requires { op.fill; }) {
    if (op.fill != Fill{}) {
      refuse_argument(Op::kName, "fill must be 0 with mode=\"I;16\"");
    }
  }
}

// Refuses fields with different numbers for red, green and blue.
class CheckOneNumber {
 public:
  CheckOneNumber(const char* owner, ImageMode mode) : owner_(owner), mode_(mode) {}

  template <class T>
  void operator()(const FieldInfo&, const T&) const {}
  void operator()(const FieldInfo& field, const Fill& value) const { check(field, value); }
  void operator()(const FieldInfo& field, const std::optional<Fill>& value) const {
    if (value) check(field, *value);
  }
  void operator()(const FieldInfo& field, const PerChannel& value) const {
    if (mode_ != ImageMode::rgba) check(field, value);  // Normalize takes four numbers
  }
  void operator()(const FieldInfo& field, const ErasingValue& value) const {
    if (!value.random) check(field, value.number);
  }

 private:
  template <class T>
  void check(const FieldInfo& field, const T& value) const {
    if (std::all_of(value.begin(), value.end(), [&](auto one) { return one == value[0]; })) return;
    refuse_argument(owner_,
                    fmt::format("{} must be one number where images have {}, not ({})", field.name,
                                mode_ == ImageMode::rgba ? "an alpha channel" : "one channel",
                                fmt::join(value, ", ")));
  }

  const char* owner_;
  const ImageMode mode_;
};

// Throws Error(argument) if the transform would treat images of this mode differently from Pillow
// and torchvision.
template <class Op>
void check_mode_of(const Op& op, ImageMode mode) {
  if constexpr (requires { op.check_mode(mode); }) op.check_mode(mode);
  if (mode == ImageMode::i16) check_16_bits(op);
  if (mode == ImageMode::rgba) check_alpha(op);
  if (mode != ImageMode::rgb) Op::fields(op, CheckOneNumber(Op::kName, mode));
}

}  // namespace tundish
