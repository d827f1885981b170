// A preprocessed image becomes a sample's image field.
#pragma once

#include "data/pack/write/prepare.h"

namespace tundish {

// Runs recoder.step over the image of out.sample and replaces `image` where that gave a new one
// that may be stored: then true, and `out` has the new image's info, restore data and sizes. Sets
// out.preprocessed.
bool preprocess_image(Prepared& out, std::vector<std::byte>& image, const Limits& limits,
                      Recoder& recoder);

}  // namespace tundish
