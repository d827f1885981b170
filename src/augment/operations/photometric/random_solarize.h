// torchvision RandomSolarize: inverts bright levels with probability p.
#pragma once

#include "augment/plan.h"
#include "base/fields.h"
#include "base/random.h"

namespace tundish {

struct RandomSolarize {
  static constexpr const char* kName = "RandomSolarize";
  static constexpr const char* kAbout =
      "Inverts levels at or above a threshold, with probability p.";

  double threshold = 128;
  double p = 0.5;
  bool operator==(const RandomSolarize&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(FieldInfo{"threshold", "the lowest level that is inverted", 0, 256}, self.threshold);
    visit(FieldInfo{"p", "probability", 0, 1}, self.p);
  }

  void plan(View& view, Random& random) const {
    if (random.uniform() < p) view.add({.op = PixelOp::solarize, .value = {threshold}});
  }
  bool makes_pixels() const { return true; }
};

}  // namespace tundish
