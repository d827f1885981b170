// Zarr, versions 2 and 3: a folder with .zarray or zarr.json and a file per chunk or shard.
#pragma once

#include <memory>
#include <string>

#include "data/source/source.h"
#include "data/source/source_options.h"

namespace tundish {

std::shared_ptr<const Source> open_zarr(const std::string& path, const SourceOptions& options);

}  // namespace tundish
