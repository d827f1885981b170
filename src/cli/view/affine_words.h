// The coefficients of an affine step in words: rotation, scale, shear and shift.
#pragma once

#include <string>
#include <vector>

#include "augment/pixels/pixel_step.h"

namespace tundish::cli {

// Of PixelOp::affine and tensor_affine: {"rotate 12.3 deg", "scale 0.9", "shear x 8 deg", "shift
// right 4 px", "shift up 2 px"}, without what does nothing. The angle is counter-clockwise, as of
// RandomRotation. The shift is that of the middle of the image. `input`: size of the image before
// the step.
std::vector<std::string> words_of_affine(const PixelStep& step, Size input);

}  // namespace tundish::cli
