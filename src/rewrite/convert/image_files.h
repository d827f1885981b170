// A source whose raw pixels (arrays of one shape) are image files: what preprocessing reads.
#pragma once

#include <memory>

#include "data/source/source.h"

namespace tundish {

// The same source when its images are files already, or when it has none. Elements that are no
// image become a bad sample.
std::shared_ptr<const Source> as_image_files(std::shared_ptr<const Source> source);

}  // namespace tundish
