// torchvision RandomAffine: rotates, moves, scales and shears by random amounts.
#pragma once

#include "augment/operations/warps/affine_matrix.h"
#include "augment/operations/warps/angle_range.h"

namespace tundish {

struct RandomAffine {
  static constexpr const char* kName = "RandomAffine";
  static constexpr const char* kAbout = "Rotates, translates, scales and shears by random amounts.";

  AngleRange degrees;
  std::optional<std::array<double, 2>> translate = {};
  std::optional<std::array<double, 2>> scale = {};
  std::optional<ShearRange> shear = {};
  Filter interpolation = Filter::nearest;
  Fill fill{};
  std::optional<Point> center = {};
  bool operator==(const RandomAffine&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(FieldInfo{"degrees", "the range of angles; one number: from its negative to itself"},
          self.degrees);
    visit(FieldInfo{"translate", "maximum translations, as shares of width and height", 0, 1},
          self.translate);
    visit(FieldInfo{"scale", "the range of factors", 1e-6, 1e6}, self.scale);
    visit(FieldInfo{"shear",
                    "the range of angles along x, or of x and of y; one number: along x, from its "
                    "negative to itself"},
          self.shear);
    visit(FieldInfo{"interpolation", "interpolation between pixels"}, self.interpolation);
    visit(FieldInfo{"fill", "level outside the image, or one per channel", 0, 255}, self.fill);
    visit(FieldInfo{"center", "(x, y) of the point that stays, in pixels; none: the middle",
                    -kMaxPlannedSide, kMaxPlannedSide},
          self.center);
  }
  void check() const;

  void plan(View& view, Random& random) const {
    add_affine(view, drawn(view.size(), random), {interpolation, fill});
  }
  AffineNumbers drawn(Size image, Random& random) const;
  bool makes_pixels() const { return true; }
};

}  // namespace tundish
