// torchvision RandomPerspective: shows the image from a random viewpoint with probability p.
#pragma once

#include "augment/operations/warps/affine_matrix.h"
#include "base/fields.h"
#include "base/random.h"

namespace tundish {

struct RandomPerspective {
  static constexpr const char* kName = "RandomPerspective";
  static constexpr const char* kAbout = "Applies a random perspective with probability p.";

  double distortion_scale = 0.5;
  double p = 0.5;
  Filter interpolation = Filter::bilinear;
  Fill fill{};
  bool operator==(const RandomPerspective&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(
        FieldInfo{"distortion_scale", "how far the corners move, as a share of half a side", 0, 1},
        self.distortion_scale);
    visit(FieldInfo{"p", "probability", 0, 1}, self.p);
    visit(FieldInfo{"interpolation", "interpolation between pixels"}, self.interpolation);
    visit(FieldInfo{"fill", "level outside the image, or one per channel", 0, 255}, self.fill);
  }

  void plan(View& view, Random& random) const;
  bool makes_pixels() const { return true; }
};

// Returns the coefficients of PixelOp::perspective that show the four points `from` at `to`. They
// are rounded to float32 like torchvision's. Empty if three of the points are on a line.
using Corners = std::array<std::array<int, 2>, 4>;
std::optional<std::array<double, 8>> perspective_coefficients(const Corners& from,
                                                              const Corners& to);

}  // namespace tundish
