// torchvision RandomHorizontalFlip: mirrors an image with probability p.
#pragma once

#include "augment/plan.h"
#include "base/fields.h"
#include "base/random.h"

namespace tundish {

struct RandomHorizontalFlip {
  static constexpr const char* kName = "RandomHorizontalFlip";
  static constexpr const char* kAbout = "Flips the image left to right with probability p.";

  double p = 0.5;
  bool operator==(const RandomHorizontalFlip&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(FieldInfo{"p", "probability", 0, 1}, self.p);
  }

  void plan(View& view, Random& random) const;
};

}  // namespace tundish
