// torchvision RandomEqualize: equalizes the histogram with probability p.
#pragma once

#include "augment/plan.h"
#include "base/fields.h"
#include "base/random.h"

namespace tundish {

struct RandomEqualize {
  static constexpr const char* kName = "RandomEqualize";
  static constexpr const char* kAbout =
      "Makes the levels of each channel equally frequent, with probability p.";

  double p = 0.5;
  bool operator==(const RandomEqualize&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(FieldInfo{"p", "probability", 0, 1}, self.p);
  }

  void plan(View& view, Random& random) const {
    if (random.uniform() < p) view.add({.op = PixelOp::equalize});
  }
  bool makes_pixels() const { return true; }
};

}  // namespace tundish
