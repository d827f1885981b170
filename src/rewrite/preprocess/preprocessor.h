// Resizes, crops and re-encodes the images of a pack on the packer's threads.
#pragma once

#include <memory>

#include "data/pack/write/preprocess.h"
#include "rewrite/preprocess/options.h"

namespace tundish {

// The pack remains a pure function of the source and the options.
std::unique_ptr<const Preprocessor> make_preprocessor(const PreprocessOptions& options);

}  // namespace tundish
