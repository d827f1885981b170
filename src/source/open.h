// A path to its source: asks the table of formats (source/format.h).
#pragma once

#include <memory>
#include <string>

#include "source/source.h"
#include "source/source_options.h"

namespace tundish {

// Throws Error 301 to 304 and 314 to 318. pack/open.h knows packs and calls this for the rest.
std::shared_ptr<const Source> open_loose(const std::string& path,
                                         const SourceOptions& options = {});

}  // namespace tundish
