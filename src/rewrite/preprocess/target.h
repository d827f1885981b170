// What resize and crop make of one image, before a byte of it is decoded.
#pragma once

#include "augment/transforms.h"
#include "rewrite/preprocess/options.h"

namespace tundish {

struct Target {
  Transforms transforms;  // Resize, CenterCrop or both, as a loader would have them
  Size size;              // of the result
  bool changes = false;   // the result has another size
  // The image would have been enlarged or padded, which was not asked for or gives too large a
  // result: it keeps its size, and there are no transforms.
  bool too_small = false;
};

// Pure. `image`: upright where orientation is applied.
Target target_of(const PreprocessOptions& options, Size image);

}  // namespace tundish
