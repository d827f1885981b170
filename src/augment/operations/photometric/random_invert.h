// torchvision RandomInvert: inverts an image with probability p.
#pragma once

#include "augment/plan.h"
#include "base/fields.h"
#include "base/random.h"

namespace tundish {

struct RandomInvert {
  static constexpr const char* kName = "RandomInvert";
  static constexpr const char* kAbout = "Inverts the colors with probability p.";

  double p = 0.5;
  bool operator==(const RandomInvert&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(FieldInfo{"p", "probability", 0, 1}, self.p);
  }

  void plan(View& view, Random& random) const {
    if (random.uniform() < p) view.add({.op = PixelOp::invert});
  }
  bool makes_pixels() const { return true; }
};

}  // namespace tundish
