// A source whose raw pixels (arrays of one shape) appear as image files, for preprocessing.
#pragma once

#include <memory>

#include "data/source/source.h"

namespace tundish {

// Returns `source` if its images are already files, or if it has none. Elements that do not form an
// image become a bad sample.
std::shared_ptr<const Source> as_image_files(std::shared_ptr<const Source> source);

}  // namespace tundish
