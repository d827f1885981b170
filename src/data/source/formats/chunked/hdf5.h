// HDF5: the structure by a helper process (source/formats/hdf5_index.h), the chunks by own code.
#pragma once

#include <memory>
#include <string>

#include "data/source/source.h"
#include "data/source/source_options.h"

namespace tundish {

// The word behind which the program describes a file for the library.
inline constexpr const char* kHdf5Verb = "read-hdf5-structure";

std::shared_ptr<const Source> open_hdf5(const std::string& path, const SourceOptions& options);

}  // namespace tundish
