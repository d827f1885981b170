// Puts an image at the top left of a larger one, so that images of different sizes fit in a batch.
#pragma once

#include "augment/plan.h"
#include "base/fields.h"
#include "base/random.h"

namespace tundish {

struct PadTo {
  static constexpr const char* kName = "PadTo";
  static constexpr const char* kAbout =
      "Places the image at the top left and fills the rest with a level; a larger image is an "
      "error.";

  Size size;
  Fill fill{};
  bool operator==(const PadTo&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(FieldInfo{"size", "size of the result, in pixels", 1, kMaxSide}, self.size);
    visit(
        FieldInfo{
            "fill",
            "level of the padding, or one per channel; ToDtype and Normalize change it too, also "
            "those that come before",
            0, 255},
        self.fill);
  }

  // Throws Error(argument) with both sizes if the image is too large. May follow ToDtype and
  // Normalize: the fill is a level and is converted with the other levels.
  void plan(View& view, Random& random) const;
  Size result_size(Size) const { return size; }
};

}  // namespace tundish
