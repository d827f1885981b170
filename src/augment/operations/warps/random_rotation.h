// torchvision RandomRotation: rotates about a point by a random angle.
#pragma once

#include "augment/operations/warps/affine_matrix.h"
#include "augment/operations/warps/angle_range.h"

namespace tundish {

struct RandomRotation {
  static constexpr const char* kName = "RandomRotation";
  static constexpr const char* kAbout = "Rotates by a random angle, counter-clockwise.";

  AngleRange degrees;
  Filter interpolation = Filter::nearest;
  bool expand = false;
  std::optional<Point> center = {};
  Fill fill{};
  bool operator==(const RandomRotation&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(FieldInfo{"degrees", "the range of angles; one number: from its negative to itself"},
          self.degrees);
    visit(FieldInfo{"interpolation", "interpolation between pixels"}, self.interpolation);
    visit(FieldInfo{"expand", "the result has room for the whole image"}, self.expand);
    visit(FieldInfo{"center", "(x, y) of the point that stays, in pixels; none: the middle",
                    -kMaxPlannedSide, kMaxPlannedSide},
          self.center);
    visit(FieldInfo{"fill", "level outside the image, or one per channel", 0, 255}, self.fill);
  }
  void check() const { check_angles(kName, "degrees", degrees); }

  void plan(View& view, Random& random) const {
    add_rotation(view, draw_float(random, degrees.low, degrees.high), {interpolation, fill}, expand,
                 center);
  }
  bool makes_pixels() const { return true; }
  Size result_size(Size before) const { return expand ? Size{} : before; }
};

}  // namespace tundish
