// torchvision RandomAutocontrast: stretches the levels with probability p.
#pragma once

#include "augment/plan.h"
#include "base/fields.h"
#include "base/random.h"

namespace tundish {

struct RandomAutocontrast {
  static constexpr const char* kName = "RandomAutocontrast";
  static constexpr const char* kAbout =
      "Stretches the levels of each channel to 0..255, with probability p.";

  double p = 0.5;
  bool operator==(const RandomAutocontrast&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(FieldInfo{"p", "probability", 0, 1}, self.p);
  }

  void plan(View& view, Random& random) const {
    if (random.uniform() < p) view.add({.op = PixelOp::autocontrast});
  }
  bool makes_pixels() const { return true; }
};

}  // namespace tundish
