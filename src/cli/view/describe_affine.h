// Describes the coefficients of an affine step: rotation, scale, shear and shift.
#pragma once

#include <string>
#include <vector>

#include "augment/pixels/pixel_step.h"

namespace tundish::cli {

// Describes PixelOp::affine and tensor_affine: {"rotate 12.3 deg", "scale 0.9", "shear x 8 deg",
// "shift right 4 px", "shift up 2 px"}, without parts that have no effect. The angle is
// counter-clockwise, as in RandomRotation. The shift is measured at the image center. `input`:
// size of the image before the step.
std::vector<std::string> describe_affine(const PixelStep& step, Size input);

}  // namespace tundish::cli
