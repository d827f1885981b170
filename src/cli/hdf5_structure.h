// The arrays of an HDF5 file as source/formats/hdf5_index.h writes them, found with libhdf5.
#pragma once

#include <string>

namespace tundish::cli {

// The exit code of the verb: 0, kHelperUnsupported or kHelperDamaged; `out` is the description or
// the reason. Opens no other file, whatever this one names. `compare`: damaged, when libhdf5 finds
// other chunks than our own reader of chunk indexes; takes long.
int describe_hdf5(std::string& out, const std::string& path, bool compare);

}  // namespace tundish::cli
