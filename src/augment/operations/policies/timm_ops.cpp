#include "augment/operations/policies/timm_ops.h"

#include <algorithm>
#include <array>

#include "augment/operations/draw_normal.h"
#include "augment/operations/warps/affine_matrix.h"

// Every formula keeps the order of operations of timm's Python source, so that each double is
// identical.
namespace tundish {
namespace {

using enum TimmOp;

double either_side(double value, Random& random) { return random.uniform() < 0.5 ? value : -value; }

void add_matrix(View& view, Random& random, const std::array<double, 6>& m, const TimmLook& look) {
  view.add({.op = PixelOp::affine,
            .filter = draw_filter(look.interpolation, random),
            .fill = look.fill,
            .value = {m[0], m[1], m[2], m[3], m[4], m[5]}});
}

// Adds an operation that moves pixels. `level`: magnitude / 10.
void add_warp(View& view, Random& random, TimmOp op, double level, const TimmLook& look) {
  if (op == rotate) {
    const double angle = either_side(level * 30.0, random);
    return add_rotation(view, angle, {draw_filter(look.interpolation, random), look.fill});
  }
  const bool shears = op == shear_x || op == shear_y;
  const double amount = either_side(level * (shears ? 0.3 : look.translate_pct), random);
  switch (op) {
    case shear_x:
      return add_matrix(view, random, {1, amount, 0, 0, 1, 0}, look);
    case shear_y:
      return add_matrix(view, random, {1, 0, 0, amount, 1, 0}, look);
    case translate_x_rel:
      return add_matrix(view, random, {1, 0, amount * view.size().width, 0, 1, 0}, look);
    default:
      return add_matrix(view, random, {1, 0, 0, 0, 1, amount * view.size().height}, look);
  }
}

// Keeps `bits` bits: 8 or more change nothing, 0 gives black.
void add_posterize(View& view, int bits) {
  if (bits >= 8) return;
  view.add({.op = PixelOp::posterize, .value = {static_cast<double>(std::max(bits, 0))}});
}

void add_threshold(View& view, double level, bool increasing) {
  const int threshold = std::min(256, static_cast<int>(level * 256));
  view.add({.op = PixelOp::solarize,
            .value = {static_cast<double>(increasing ? 256 - threshold : threshold)}});
}

// Adds an ImageEnhance operation; factor 1 changes nothing.
void add_factor(View& view, Random& random, PixelOp op, double level, bool increasing) {
  const double factor =
      increasing ? std::max(0.1, 1.0 + either_side(level * 0.9, random)) : level * 1.8 + 0.1;
  view.add({.op = op, .value = {factor}});
}

// timm's _minmax_level_to_arg.
double between(double level, double low, double high) {
  return std::clamp(low + (high - low) * level, low, high);
}

}  // namespace

double TimmMagnitude::draw(Random& random) const {
  double value = mean;
  if (uniform) {
    value = random.uniform(0, mean);
  } else if (std > 0) {
    value = mean + draw_normal(random) * std;
  }
  return std::max(0.0, std::min(value, max));
}

void add_timm_op(View& view, Random& random, TimmOp op, double magnitude, const TimmLook& look) {
  const double level = magnitude / 10.0;
  const auto factor = [&](PixelOp pixel_op, bool increasing) {
    add_factor(view, random, pixel_op, level, increasing);
  };
  switch (op) {
    case auto_contrast:
      return view.add({.op = PixelOp::autocontrast});
    case equalize:
      return view.add({.op = PixelOp::equalize});
    case invert:
      return view.add({.op = PixelOp::invert});
    case posterize:
      return add_posterize(view, static_cast<int>(level * 4));
    case posterize_increasing:
      return add_posterize(view, 4 - static_cast<int>(level * 4));
    case posterize_original:
      return add_posterize(view, static_cast<int>(level * 4) + 4);
    case solarize:
    case solarize_increasing:
      return add_threshold(view, level, op == solarize_increasing);
    case solarize_add: {
      const double added = std::min(128, static_cast<int>(level * 110));
      return view.add({.op = PixelOp::solarize_add, .value = {added, 128}});
    }
    case color:
    case color_increasing:
      return factor(PixelOp::saturation, op == color_increasing);
    case contrast:
    case contrast_increasing:
      return factor(PixelOp::contrast, op == contrast_increasing);
    case brightness:
    case brightness_increasing:
      return factor(PixelOp::brightness, op == brightness_increasing);
    case sharpness:
    case sharpness_increasing:
      return factor(PixelOp::sharpness, op == sharpness_increasing);
    case desaturate: {
      const double kept = std::clamp(1.0 - between(level, 0.5, 1.0), 0.0, 1.0);
      return view.add({.op = PixelOp::saturation, .value = {kept}});
    }
    case gaussian_blur:
      return view.add({.op = PixelOp::box_blur, .value = {between(level, 0.1, 2.0)}});
    case gaussian_blur_rand: {
      const double radius = random.uniform(0.1, 2.0 * between(level, 0.0, 1.0));
      return view.add({.op = PixelOp::box_blur, .value = {radius}});
    }
    default:
      return add_warp(view, random, op, level, look);
  }
}

}  // namespace tundish
