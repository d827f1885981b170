#include "augment/operations/policies/policy_ops.h"

#include <cmath>
#include <numbers>

#include "augment/operations/warps/affine_matrix.h"

namespace tundish {
namespace {

// Computes like torch: from both ends towards the middle.
float linspace(float from, float to, int count, int i) {
  if (count == 1) return from;
  const float step = (to - from) / static_cast<float>(count - 1);
  return i < count / 2 ? from + step * static_cast<float>(i)
                       : to - step * static_cast<float>(count - i - 1);
}

double degrees_of_slope(double slope) { return std::atan(slope) * 180.0 / std::numbers::pi; }

PixelOp pixel_op_of(PolicyOp op) {
  switch (op) {
    case PolicyOp::brightness:
      return PixelOp::brightness;
    case PolicyOp::color:
      return PixelOp::saturation;
    case PolicyOp::contrast:
      return PixelOp::contrast;
    case PolicyOp::sharpness:
      return PixelOp::sharpness;
    case PolicyOp::posterize:
      return PixelOp::posterize;
    case PolicyOp::solarize:
      return PixelOp::solarize;
    case PolicyOp::auto_contrast:
      return PixelOp::autocontrast;
    case PolicyOp::equalize:
      return PixelOp::equalize;
    default:
      return PixelOp::invert;
  }
}

}  // namespace

double magnitude_of(const PolicyRange& range, int bin, int bins, Size image) {
  switch (range.kind) {
    case PolicyRange::none:
      return 0;
    case PolicyRange::sides:
      return linspace(0, static_cast<float>(range.high), bins, bin);
    case PolicyRange::width:
      return linspace(0, static_cast<float>(range.high * image.width), bins, bin);
    case PolicyRange::height:
      return linspace(0, static_cast<float>(range.high * image.height), bins, bin);
    case PolicyRange::bits:
      return std::nearbyint(8.0f -
                            static_cast<float>(bin) / static_cast<float>((bins - 1) / range.high));
    case PolicyRange::downward:
      return linspace(1, 0, bins, bin);
  }
  return 0;
}

void add_policy_op(View& view, Random& random, const PolicyRange& range, int bin, int bins,
                   const WarpLook& look) {
  double magnitude = magnitude_of(range, bin, bins, view.size());
  const bool two_sides = range.kind == PolicyRange::sides || range.kind == PolicyRange::width ||
                         range.kind == PolicyRange::height;
  if (two_sides && random.uniform() < 0.5) magnitude = -magnitude;
  switch (range.op) {
    case PolicyOp::identity:
      return;
    case PolicyOp::shear_x:
      return add_affine(view, {.shear = {degrees_of_slope(magnitude), 0}, .center = Point{0, 0}},
                        look);
    case PolicyOp::shear_y:
      return add_affine(view, {.shear = {0, degrees_of_slope(magnitude)}, .center = Point{0, 0}},
                        look);
    case PolicyOp::translate_x:
      return add_affine(view, {.translate = {std::trunc(magnitude), 0}}, look);
    case PolicyOp::translate_y:
      return add_affine(view, {.translate = {0, std::trunc(magnitude)}}, look);
    case PolicyOp::rotate:
      return add_rotation(view, magnitude, look);
    case PolicyOp::solarize:
      return view.add({.op = PixelOp::solarize, .value = {255.0 * magnitude}});
    case PolicyOp::posterize:
      return view.add({.op = PixelOp::posterize, .value = {magnitude}});
    case PolicyOp::auto_contrast:
    case PolicyOp::equalize:
    case PolicyOp::invert:
      return view.add({.op = pixel_op_of(range.op)});
    default:  // factor around 1
      return view.add({.op = pixel_op_of(range.op), .value = {1.0 + magnitude}});
  }
}

}  // namespace tundish
