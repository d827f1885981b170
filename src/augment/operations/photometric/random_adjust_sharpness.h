// torchvision RandomAdjustSharpness: sharpens or smooths an image with probability p.
#pragma once

#include "augment/operations/photometric/color_draws.h"
#include "base/fields.h"

namespace tundish {

struct RandomAdjustSharpness {
  static constexpr const char* kName = "RandomAdjustSharpness";
  static constexpr const char* kAbout = "Sharpens or smooths with probability p.";

  double sharpness_factor = 1;
  double p = 0.5;
  bool operator==(const RandomAdjustSharpness&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(FieldInfo{"sharpness_factor", "0: smooth, 1: as it is, 2: sharper", 0, kMaxFactor},
          self.sharpness_factor);
    visit(FieldInfo{"p", "probability", 0, 1}, self.p);
  }

  void plan(View& view, Random& random) const {
    if (random.uniform() < p) view.add({.op = PixelOp::sharpness, .value = {sharpness_factor}});
  }
  bool makes_pixels() const { return true; }
};

}  // namespace tundish
