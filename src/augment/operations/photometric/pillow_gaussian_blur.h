// Pillow's ImageFilter.GaussianBlur with a random radius and probability p: the blur of timm, DINO
// and 3-Augment recipes.
#pragma once

#include "augment/operations/photometric/one_or_two.h"
#include "augment/pixels/blur/blur_ops.h"
#include "augment/plan.h"
#include "base/fields.h"
#include "base/random.h"

namespace tundish {

struct PillowGaussianBlur {
  static constexpr const char* kName = "PillowGaussianBlur";
  static constexpr const char* kAbout =
      "Blurs as Pillow's ImageFilter.GaussianBlur does, with probability p.";

  OneOrTwo<double> radius = {0.1, 2.0};
  double p = 0.5;
  bool operator==(const PillowGaussianBlur&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(FieldInfo{"radius", "radius in pixels, or the range it is drawn from", 0, kMaxBlurRadius},
          self.radius);
    visit(FieldInfo{"p", "probability", 0, 1}, self.p);
  }
  void check() const {
    const auto [low, high] = radius.pair();
    if (low > high) {
      refuse_argument(kName, fmt::format("radius must be (min, max), not ({}, {})", low, high));
    }
  }

  void plan(View& view, Random& random) const {
    if (random.uniform() >= p) return;
    view.add({.op = PixelOp::box_blur, .value = {random.uniform(radius[0], radius[1])}});
  }
  bool makes_pixels() const { return true; }
};

}  // namespace tundish
