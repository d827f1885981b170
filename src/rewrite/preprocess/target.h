// Computes the effect of resize and crop on one image, before any byte is decoded.
#pragma once

#include "augment/transforms.h"
#include "rewrite/preprocess/options.h"

namespace tundish {

struct Target {
  Transforms transforms;  // Resize, CenterCrop or both, as for a loader
  Size size;              // size of the result
  bool changes = false;   // true if the result has another size
  // True if the image would be enlarged or padded, and this was not requested or makes too large a
  // result. The image then keeps its size, and there are no transforms.
  bool too_small = false;
};

// Pure function. `image`: upright size if orientation is applied.
Target target_of(const PreprocessOptions& options, Size image);

}  // namespace tundish
