// The operations of timm's RandAugment and AutoAugment (timm/data/auto_augment.py), and the
// strength of each magnitude.
#pragma once

#include <cstdint>

#include "augment/operations/random_filter.h"
#include "augment/plan.h"
#include "base/fields.h"
#include "base/random.h"

namespace tundish {

// timm's names. An operation ending in `increasing` has a stronger effect at a higher magnitude.
// The operation without the suffix has a weaker effect.
enum class TimmOp : std::uint8_t {
  auto_contrast,
  equalize,
  invert,
  rotate,
  posterize,
  posterize_increasing,
  posterize_original,
  solarize,
  solarize_increasing,
  solarize_add,
  color,
  color_increasing,
  contrast,
  contrast_increasing,
  brightness,
  brightness_increasing,
  sharpness,
  sharpness_increasing,
  shear_x,
  shear_y,
  translate_x_rel,
  translate_y_rel,
  desaturate,
  gaussian_blur,
  gaussian_blur_rand,
};

// Distribution of the magnitude.
struct TimmMagnitude {
  double mean = 10;
  double std = 0;        // 0: always the mean
  bool uniform = false;  // from 0 to the mean instead
  double max = 10;       // the drawn magnitude is clipped to 0 .. max
  double draw(Random& random) const;
};

// timm's hparams for operations that move pixels.
struct TimmLook {
  Fill fill{};
  RandomFilter interpolation = RandomFilter::random;
  double translate_pct = 0.45;  // share of the image's side at magnitude 10
};

// Adds the operation to the plan; draws the sign and the filter.
void add_timm_op(View& view, Random& random, TimmOp op, double magnitude, const TimmLook& look);

}  // namespace tundish
