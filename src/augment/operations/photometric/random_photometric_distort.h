// torchvision RandomPhotometricDistort: the color distortions of SSD, each with probability p.
#pragma once

#include "augment/operations/photometric/color_draws.h"
#include "base/fields.h"

namespace tundish {

struct RandomPhotometricDistort {
  static constexpr const char* kName = "RandomPhotometricDistort";
  static constexpr const char* kAbout =
      "Changes brightness, contrast, saturation, hue and the order of the channels, each with "
      "probability p.";

  std::array<double, 2> brightness = {0.875, 1.125};
  std::array<double, 2> contrast = {0.5, 1.5};
  std::array<double, 2> saturation = {0.5, 1.5};
  std::array<double, 2> hue = {-0.05, 0.05};
  double p = 0.5;
  bool operator==(const RandomPhotometricDistort&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(FieldInfo{"brightness", "range of the factor", 0, kMaxFactor}, self.brightness);
    visit(FieldInfo{"contrast", "range of the factor", 0, kMaxFactor}, self.contrast);
    visit(FieldInfo{"saturation", "range of the factor", 0, kMaxFactor}, self.saturation);
    visit(FieldInfo{"hue", "range of the shift, in turns of the color circle", -0.5, 0.5},
          self.hue);
    visit(FieldInfo{"p", "probability of each change", 0, 1}, self.p);
  }

  void check() const;
  void plan(View& view, Random& random) const;
  bool makes_pixels() const { return true; }
};

}  // namespace tundish
