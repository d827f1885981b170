// torchvision Pad: adds pixels around the image.
#pragma once

#include "augment/plan.h"
#include "base/fields.h"
#include "base/random.h"

namespace tundish {

struct Pad {
  static constexpr const char* kName = "Pad";
  static constexpr const char* kAbout = "Pads the image on its sides.";

  Padding padding = {};
  Fill fill{};
  PadMode padding_mode = PadMode::constant;
  bool operator==(const Pad&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(FieldInfo{"padding",
                    "pixels: all sides, or left/right and top/bottom, or left, top, right, bottom",
                    0, kMaxSide},
          self.padding);
    visit(FieldInfo{"fill", "level of constant padding, or one per channel", 0, 255}, self.fill);
    visit(FieldInfo{"padding_mode", "how padding is filled"}, self.padding_mode);
  }

  // plan() and result_size() throw Error(argument) if a side would exceed kMaxPlannedSide.
  void plan(View& view, Random& random) const;
  bool makes_pixels() const { return padding != Padding{}; }
  Size result_size(Size before) const;
};

}  // namespace tundish
