// timm's CenterCropOrPad and RandomCropOrPad: a window of fixed size; a smaller image is padded to
// this size.
#pragma once

#include "augment/plan.h"
#include "base/fields.h"
#include "base/random.h"

namespace tundish {

struct CenterCropOrPad {
  static constexpr const char* kName = "CenterCropOrPad";
  static constexpr const char* kAbout = "The middle; a smaller image is padded, as timm does it.";

  Scheduled<Size> size;
  Fill fill{};
  PadMode padding_mode = PadMode::constant;
  bool operator==(const CenterCropOrPad&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(FieldInfo{"size", "of the result, in pixels", 1, kMaxSide}, self.size);
    visit(FieldInfo{"fill", "level of constant padding, or one per channel", 0, 255}, self.fill);
    visit(FieldInfo{"padding_mode", "what padding is made of"}, self.padding_mode);
  }

  void plan(View& view, Random& random) const;
  bool makes_pixels() const { return true; }
  Size result_size(Size) const { return size; }
};

struct RandomCropOrPad {
  static constexpr const char* kName = "RandomCropOrPad";
  static constexpr const char* kAbout =
      "A random window; a smaller image is padded around a random place, as timm does it.";

  Scheduled<Size> size;
  Fill fill{};
  PadMode padding_mode = PadMode::constant;
  bool operator==(const RandomCropOrPad&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(FieldInfo{"size", "of the result, in pixels", 1, kMaxSide}, self.size);
    visit(FieldInfo{"fill", "level of constant padding, or one per channel", 0, 255}, self.fill);
    visit(FieldInfo{"padding_mode", "what padding is made of"}, self.padding_mode);
  }

  void plan(View& view, Random& random) const;
  bool makes_pixels() const { return true; }
  Size result_size(Size) const { return size; }
};

}  // namespace tundish
