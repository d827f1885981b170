// An LMDB data file (data.mdb, or the folder that holds it) whose values are coded images, Caffe
// Datums, or pickles of an image and its label. Our own reader (lmdb_tree.h): liblmdb maps the file
// into memory and trusts what its pages say, so a damaged or hostile file can end the process; it
// also writes a lock file. This reader checks every page, takes no lock, and needs no library.
//
// The file must not be written to while it is read. Opening walks the tree once and keeps what it
// found beside the file.
#pragma once

#include <memory>
#include <string>

#include "data/source/format.h"

namespace tundish {

bool looks_like_lmdb(const Probe& probe);

// Throws Error: source_damaged, format_unsupported, field_unclear, source_empty.
std::shared_ptr<const Source> open_lmdb(const std::string& path, const SourceOptions& options);

}  // namespace tundish
