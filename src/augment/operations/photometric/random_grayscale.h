// torchvision RandomGrayscale: converts colors to grays with probability p.
#pragma once

#include "augment/plan.h"
#include "base/fields.h"
#include "base/random.h"

namespace tundish {

struct RandomGrayscale {
  static constexpr const char* kName = "RandomGrayscale";
  static constexpr const char* kAbout =
      "Converts to gray, in three equal channels, with probability p.";

  double p = 0.1;
  bool operator==(const RandomGrayscale&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(FieldInfo{"p", "probability", 0, 1}, self.p);
  }

  void plan(View& view, Random& random) const {
    if (random.uniform() < p) view.add({.op = PixelOp::grayscale});
  }
  bool makes_pixels() const { return true; }
};

}  // namespace tundish
