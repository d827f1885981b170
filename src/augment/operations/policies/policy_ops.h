// The operations that torchvision's policies (RandAugment, TrivialAugmentWide, AutoAugment) choose
// from, and how strong each is.
#pragma once

#include <cstdint>
#include <span>

#include "augment/operations/warps/affine_matrix.h"
#include "augment/plan.h"
#include "base/fields.h"
#include "base/random.h"

namespace tundish {

enum class PolicyOp : std::uint8_t {
  identity,
  shear_x,
  shear_y,
  translate_x,
  translate_y,
  rotate,
  brightness,
  color,
  contrast,
  sharpness,
  posterize,
  solarize,
  auto_contrast,
  equalize,
  invert,
};

// How far an operation goes at its highest magnitude.
struct PolicyRange {
  PolicyOp op;
  enum Kind : std::uint8_t {
    none,      // it has no magnitude
    sides,     // 0 .. high, to either side
    width,     // 0 .. high * width, to either side
    height,    // 0 .. high * height, to either side
    bits,      // 8 .. 8 - high, rounded
    downward,  // 1 .. 0
  } kind = none;
  double high = 0;
};

// Number `bin` of `bins` magnitudes, for an image of this size: torch.linspace in float32.
double magnitude_of(const PolicyRange& range, int bin, int bins, Size image);

// Adds the operation with magnitude number `bin` to the plan; draws the side.
void add_policy_op(View& view, Random& random, const PolicyRange& range, int bin, int bins,
                   const WarpLook& look);

}  // namespace tundish
