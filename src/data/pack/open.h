// Opens anything that can be packed or trained from: a .tnd file, a manifest of several, or any
// source that data/source/open.h supports.
#pragma once

#include <memory>
#include <string>

#include "data/source/source.h"
#include "data/source/source_options.h"

namespace tundish {

bool is_manifest(const std::string& path);  // true if the name ends in .tnds

// Opens a regular file as a pack if it starts with the magic of a pack or is named *.tnd.
// options.format: "tnd" for a pack, "tnds" for a manifest, or a name from data/source/format.h.
std::shared_ptr<const Source> open_source(const std::string& path,
                                          const SourceOptions& options = {});

}  // namespace tundish
