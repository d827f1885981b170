// NumPy's .npz archives: each member is an array. Members that are stored are read where they
// lie; deflated ones are unpacked into memory when the archive is opened, at most
// kMaxUnpackedBytes in all.
#pragma once

#include <memory>
#include <string>

#include "data/source/arrays/stored_array_source.h"
#include "data/source/format.h"
#include "data/source/zip/zip_directory.h"

namespace tundish {

// A zip archive whose first member is a .npy file, or that is called .npz.
bool looks_like_npz(const Probe& probe);

// Adds every array of the archive; such as cannot be fields are left out with a warning. Throws.
void read_npz(ArraySet& set, const SharedStore& store, std::int64_t axis);

std::shared_ptr<const Source> open_npz(const std::string& path, const SourceOptions& options);

}  // namespace tundish
