// torchvision ColorJitter: changes brightness, contrast, saturation and hue by random factors, in
// random order.
#pragma once

#include "augment/operations/photometric/color_draws.h"
#include "base/fields.h"

namespace tundish {

struct ColorJitter {
  static constexpr const char* kName = "ColorJitter";
  static constexpr const char* kAbout =
      "Changes brightness, contrast, saturation and hue by random factors, in random order.";

  Spread<1> brightness = {};
  Spread<1> contrast = {};
  Spread<1> saturation = {};
  Spread<0> hue = {};
  bool operator==(const ColorJitter&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(FieldInfo{"brightness", "x: a factor from 1 - x to 1 + x, or its range", 0, kMaxFactor},
          self.brightness);
    visit(FieldInfo{"contrast", "the same", 0, kMaxFactor}, self.contrast);
    visit(FieldInfo{"saturation", "the same", 0, kMaxFactor}, self.saturation);
    visit(FieldInfo{"hue", "x: a shift from -x to x, or its range, in turns of the color circle",
                    -0.5, 0.5},
          self.hue);
  }

  void plan(View& view, Random& random) const;
  bool makes_pixels() const { return true; }
};

}  // namespace tundish
