#include "augment/operations/policies/aug_mix.h"

#include <cmath>
#include <iterator>
#include <numbers>

#include "augment/operations/draw_dirichlet.h"
#include "augment/operations/policies/policy_ops.h"

namespace tundish {
namespace {

// torchvision's augmentation space, in torchvision's order.
constexpr PolicyRange kOps[] = {
    {PolicyOp::shear_x, PolicyRange::sides, 0.3},
    {PolicyOp::shear_y, PolicyRange::sides, 0.3},
    {PolicyOp::translate_x, PolicyRange::width, 1.0 / 3.0},
    {PolicyOp::translate_y, PolicyRange::height, 1.0 / 3.0},
    {PolicyOp::rotate, PolicyRange::sides, 30},
    {PolicyOp::posterize, PolicyRange::bits, 4},
    {PolicyOp::solarize, PolicyRange::downward},
    {PolicyOp::auto_contrast},
    {PolicyOp::equalize},
    {PolicyOp::brightness, PolicyRange::sides, 0.9},
    {PolicyOp::color, PolicyRange::sides, 0.9},
    {PolicyOp::contrast, PolicyRange::sides, 0.9},
    {PolicyOp::sharpness, PolicyRange::sides, 0.9},
};
constexpr int kPartialOps = 9;
constexpr int kBins = 10;

// torchvision gives its tensor kernels coordinates relative to the middle of the image.
void add_tensor_affine(View& view, const AffineNumbers& numbers, const AugMix& op) {
  AffineNumbers moved = numbers;
  const Size size = view.size();
  if (numbers.center) {
    moved.center =
        Point{(*numbers.center)[0] - size.width * 0.5, (*numbers.center)[1] - size.height * 0.5};
  } else {
    moved.center = Point{0, 0};
  }
  const auto m = affine_matrix(moved, size);
  view.add({.op = PixelOp::tensor_affine,
            .filter = op.interpolation,
            .fill = op.fill.value_or(Fill{}),
            .value = {m[0], m[1], m[2], m[3], m[4], m[5], op.fill ? 1.0 : 0.0}});
}

// Adds an operation that moves pixels. Adds nothing if the magnitude is 0: grid_sample() would
// return the image unchanged.
void add_move(View& view, PolicyOp what, double magnitude, const AugMix& op) {
  const double slope = std::atan(magnitude) * 180.0 / std::numbers::pi,
               whole = std::trunc(magnitude);
  const bool translates = what == PolicyOp::translate_x || what == PolicyOp::translate_y;
  if ((translates ? whole : magnitude) == 0.0) return;
  switch (what) {
    case PolicyOp::shear_x:
      return add_tensor_affine(view, {.shear = {slope, 0}, .center = Point{0, 0}}, op);
    case PolicyOp::shear_y:
      return add_tensor_affine(view, {.shear = {0, slope}, .center = Point{0, 0}}, op);
    case PolicyOp::translate_x:
      return add_tensor_affine(view, {.translate = {whole, 0}}, op);
    case PolicyOp::translate_y:
      return add_tensor_affine(view, {.translate = {0, whole}}, op);
    default:
      // Like rotate_image(): the angle modulo 360, then negated.
      return add_tensor_affine(view, {.angle = -(magnitude < 0 ? magnitude + 360 : magnitude)}, op);
  }
}

void add_operation(View& view, Random& random, const AugMix& op) {
  const PolicyRange& range = kOps[random.below(op.all_ops ? std::size(kOps) : kPartialOps)];
  if (range.kind == PolicyRange::none) {
    const bool equalizes = range.op == PolicyOp::equalize;
    return view.add({.op = equalizes ? PixelOp::equalize : PixelOp::tensor_autocontrast});
  }
  const int bin = static_cast<int>(random.below(static_cast<std::uint64_t>(op.severity)));
  double magnitude = magnitude_of(range, bin, kBins, view.size());
  if (range.kind == PolicyRange::bits) {
    return view.add({.op = PixelOp::posterize, .value = {magnitude - 4}});
  }
  if (range.kind == PolicyRange::downward) {
    // torch compares in float32.
    return view.add({.op = PixelOp::solarize, .value = {static_cast<float>(255.0 * magnitude)}});
  }
  if (random.uniform() <= 0.5) magnitude = -magnitude;
  switch (range.op) {
    case PolicyOp::brightness:
      return view.add({.op = PixelOp::brightness, .value = {1.0 + magnitude}});
    case PolicyOp::color:
      return view.add({.op = PixelOp::tensor_saturation, .value = {1.0 + magnitude}});
    case PolicyOp::contrast:
      return view.add({.op = PixelOp::tensor_contrast, .value = {1.0 + magnitude}});
    case PolicyOp::sharpness:
      return view.add({.op = PixelOp::tensor_sharpness, .value = {1.0 + magnitude}});
    default:
      return add_move(view, range.op, magnitude, op);
  }
}

}  // namespace

void AugMix::check() const {
  if (interpolation != Filter::bicubic) return;
  refuse_argument(kName, "interpolation must be nearest or bilinear, as torchvision has it");
}

void AugMix::plan(View& view, Random& random) const {
  const auto shares = draw_dirichlet(random, 2, alpha);
  const auto weights = draw_dirichlet(random, mixture_width, alpha);
  view.add({.op = PixelOp::mix_begin, .value = {static_cast<float>(shares[0])}});
  for (const double weight : weights) {
    const int depth = chain_depth > 0 ? chain_depth : 1 + static_cast<int>(random.below(3));
    for (int i = 0; i < depth; ++i) add_operation(view, random, *this);
    // torch multiplies in float32.
    const float whole = static_cast<float>(weight) * static_cast<float>(shares[1]);
    view.add({.op = PixelOp::mix_add, .value = {whole}});
  }
  view.add({.op = PixelOp::mix_end});
}

}  // namespace tundish
