// torchvision RandomCrop: a random window of fixed size, after optional padding.
#pragma once

#include "augment/plan.h"
#include "base/fields.h"
#include "base/random.h"

namespace tundish {

struct RandomCrop {
  static constexpr const char* kName = "RandomCrop";
  static constexpr const char* kAbout =
      "Crops a random window of fixed size, after optional padding.";

  Scheduled<Size> size;
  Padding padding = {};
  bool pad_if_needed = false;
  Fill fill{};
  PadMode padding_mode = PadMode::constant;
  bool operator==(const RandomCrop&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(FieldInfo{"size", "size of the result, in pixels", 1, kMaxSide}, self.size);
    visit(FieldInfo{"padding",
                    "pixels added first: all sides, or left/right and top/bottom, or "
                    "left, top, right, bottom",
                    0, kMaxSide},
          self.padding);
    visit(FieldInfo{"pad_if_needed", "pad an image that is smaller than size"}, self.pad_if_needed);
    visit(FieldInfo{"fill", "level of constant padding, or one per channel", 0, 255}, self.fill);
    visit(FieldInfo{"padding_mode", "how padding is filled"}, self.padding_mode);
  }

  // Throws Error(argument) with both sizes if the padded image is smaller than the crop.
  void plan(View& view, Random& random) const;
  bool makes_pixels() const { return pad_if_needed || padding != Padding{}; }
  Size result_size(Size) const { return size; }
};

}  // namespace tundish
