// HDF5: a helper process reads the structure (source/formats/hdf5_index.h), and this library reads
// the chunks.
#pragma once

#include <memory>
#include <string>

#include "data/source/source.h"
#include "data/source/source_options.h"

namespace tundish {

// The verb with which the program describes a file for the library.
inline constexpr const char* kHdf5Verb = "read-hdf5-structure";

std::shared_ptr<const Source> open_hdf5(const std::string& path, const SourceOptions& options);

}  // namespace tundish
