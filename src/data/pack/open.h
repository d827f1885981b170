// Anything that can be packed or trained from: a .tnd file, a manifest of several, or what
// data/source/open.h knows.
#pragma once

#include <memory>
#include <string>

#include "data/source/source.h"
#include "data/source/source_options.h"

namespace tundish {

bool is_manifest(const std::string& path);  // by its name: *.tnds

// A regular file that starts with the magic of a pack, or is named *.tnd, is opened as a pack.
// options.format: "tnd" for a pack, "tnds" for a manifest, or one of data/source/format.h.
std::shared_ptr<const Source> open_source(const std::string& path,
                                          const SourceOptions& options = {});

}  // namespace tundish
