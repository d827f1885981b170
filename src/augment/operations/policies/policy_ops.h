// The operations of torchvision's policies (RandAugment, TrivialAugmentWide, AutoAugment), and the
// strength of each operation.
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

// Range of an operation's magnitude.
struct PolicyRange {
  PolicyOp op;
  enum Kind : std::uint8_t {
    none,      // no magnitude
    sides,     // 0 .. high, random sign
    width,     // 0 .. high * width, random sign
    height,    // 0 .. high * height, random sign
    bits,      // 8 .. 8 - high, rounded
    downward,  // 1 .. 0
  } kind = none;
  double high = 0;
};

// Returns magnitude `bin` of `bins` for an image of this size: torch.linspace in float32.
double magnitude_of(const PolicyRange& range, int bin, int bins, Size image);

// Adds the operation with magnitude `bin` to the plan; draws the sign.
void add_policy_op(View& view, Random& random, const PolicyRange& range, int bin, int bins,
                   const WarpLook& look);

}  // namespace tundish
