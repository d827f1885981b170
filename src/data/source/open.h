// Opens the source of a path with the table of formats (data/source/format.h).
#pragma once

#include <memory>
#include <string>

#include "data/source/source.h"
#include "data/source/source_options.h"

namespace tundish {

// Throws Error 301 to 304 and 314 to 318. data/pack/open.h opens packs and calls this for the rest.
std::shared_ptr<const Source> open_loose(const std::string& path,
                                         const SourceOptions& options = {});

}  // namespace tundish
