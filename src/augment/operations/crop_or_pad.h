// timm's CenterCropOrPad and RandomCropOrPad: a window of fixed size; a smaller image is padded to
// this size.
#pragma once

#include "augment/plan.h"
#include "base/fields.h"
#include "base/random.h"

namespace tundish {

struct CenterCropOrPad {
  static constexpr const char* kName = "CenterCropOrPad";
  static constexpr const char* kAbout = "Crops the center; pads a smaller image, as timm does.";

  Scheduled<Size> size;
  Fill fill{};
  PadMode padding_mode = PadMode::constant;
  bool operator==(const CenterCropOrPad&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(FieldInfo{"size", "size of the result, in pixels", 1, kMaxSide}, self.size);
    visit(FieldInfo{"fill", "level of constant padding, or one per channel", 0, 255}, self.fill);
    visit(FieldInfo{"padding_mode", "how padding is filled"}, self.padding_mode);
  }

  void plan(View& view, Random& random) const;
  bool makes_pixels() const { return true; }
  Size result_size(Size) const { return size; }
};

struct RandomCropOrPad {
  static constexpr const char* kName = "RandomCropOrPad";
  static constexpr const char* kAbout =
      "Crops a random window; pads a smaller image at a random position, as timm does.";

  Scheduled<Size> size;
  Fill fill{};
  PadMode padding_mode = PadMode::constant;
  bool operator==(const RandomCropOrPad&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(FieldInfo{"size", "size of the result, in pixels", 1, kMaxSide}, self.size);
    visit(FieldInfo{"fill", "level of constant padding, or one per channel", 0, 255}, self.fill);
    visit(FieldInfo{"padding_mode", "how padding is filled"}, self.padding_mode);
  }

  void plan(View& view, Random& random) const;
  bool makes_pixels() const { return true; }
  Size result_size(Size) const { return size; }
};

}  // namespace tundish
