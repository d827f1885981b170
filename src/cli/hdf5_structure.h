// Describes the arrays of an HDF5 file in the format of source/formats/hdf5_index.h, using libhdf5.
#pragma once

#include <string>

namespace tundish::cli {

// Returns the verb's exit code: 0, kHelperUnsupported or kHelperDamaged. `out` is the description
// or the reason. Opens no other file, even if this one names some. `compare` also checks libhdf5's
// chunks against our own index reader; a difference counts as damage. The comparison is slow.
int describe_hdf5(std::string& out, const std::string& path, bool compare);

}  // namespace tundish::cli
