// Rotations and affine transforms with given numbers, as torchvision v2 applies them to PIL images.
// Used by the warps, and by policies that choose among many operations.
#pragma once

#include <array>
#include <optional>

#include "augment/plan.h"

namespace tundish {

using Point = std::array<double, 2>;  // x, y in pixels; (0, 0) is the upper left corner

// The arguments of torchvision's F.affine. Angles are in degrees, clockwise.
struct AffineNumbers {
  double angle = 0;
  Point translate{};  // in pixels
  double scale = 1;
  Point shear{};                     // along x and y
  std::optional<Point> center = {};  // empty: the middle of the image
};

// Filter and fill for the pixels of a warp.
struct WarpLook {
  Filter filter = Filter::nearest;
  std::array<std::uint8_t, 3> fill{};
};

// Returns the coefficients of PixelOp::affine.
std::array<double, 6> affine_matrix(const AffineNumbers& numbers, Size image);

// F.affine: adds one step to the plan.
void add_affine(View& view, const AffineNumbers& numbers, const WarpLook& look);

// F.rotate, that is Image.rotate: `angle` in degrees, counter-clockwise. With `expand` the result
// has room for the whole image. Right angles about the middle copy pixels or mirror the image.
// Throws Error(argument) if a side would exceed kMaxPlannedSide.
void add_rotation(View& view, double angle, const WarpLook& look, bool expand = false,
                  const std::optional<Point>& center = {});

}  // namespace tundish
