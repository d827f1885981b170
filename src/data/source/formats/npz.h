// NumPy's .npz archives: each member is an array. Stored members are read in place. Deflated
// members are unpacked into memory when the archive is opened, at most
// kMaxUnpackedBytes in total.
#pragma once

#include <memory>
#include <string>

#include "data/source/arrays/stored_array_source.h"
#include "data/source/format.h"
#include "data/source/zip/zip_directory.h"

namespace tundish {

// Matches a zip archive whose first member is a .npy file, or whose name ends in .npz.
bool looks_like_npz(const Probe& probe);

// Adds every array of the archive; omits arrays that cannot be fields with a warning. Throws Error.
void read_npz(ArraySet& set, const SharedStore& store, std::int64_t axis);

std::shared_ptr<const Source> open_npz(const std::string& path, const SourceOptions& options);

}  // namespace tundish
