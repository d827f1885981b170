// torchvision RandomPosterize: reduces the bits per level with probability p.
#pragma once

#include "augment/plan.h"
#include "base/fields.h"
#include "base/random.h"

namespace tundish {

struct RandomPosterize {
  static constexpr const char* kName = "RandomPosterize";
  static constexpr const char* kAbout = "Keeps the highest bits of each level, with probability p.";

  int bits = 8;
  double p = 0.5;
  bool operator==(const RandomPosterize&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(FieldInfo{"bits", "number of bits to keep of each level", 0, 8}, self.bits);
    visit(FieldInfo{"p", "probability", 0, 1}, self.p);
  }

  void plan(View& view, Random& random) const {
    if (random.uniform() < p)
      view.add({.op = PixelOp::posterize, .value = {static_cast<double>(bits)}});
  }
  bool makes_pixels() const { return true; }
};

}  // namespace tundish
