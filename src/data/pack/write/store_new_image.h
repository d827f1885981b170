// Stores a preprocessed image in a sample's image field.
#pragma once

#include "data/pack/write/prepare.h"

namespace tundish {

// Runs recoder.step on the image of out.sample. If the step made a new image that may be stored,
// replaces `image`, sets the new image's info, restore data and sizes in `out`, and returns true.
// Always sets out.preprocessed.
bool preprocess_image(Prepared& out, std::vector<std::byte>& image, const Limits& limits,
                      Recoder& recoder);

}  // namespace tundish
