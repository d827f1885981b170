// An LMDB data file (data.mdb, or the folder with it) whose values are encoded images, Caffe
// Datums, or pickles of an image and its label. Uses its own reader (lmdb_tree.h): liblmdb maps the
// file into memory and trusts its pages, so a damaged or hostile file can terminate the process; it
// also writes a lock file. This reader checks every page, takes no lock, and needs no library.
//
// The file must not be written to while it is read. Opening walks the tree once and stores an index
// beside the file.
#pragma once

#include <memory>
#include <string>

#include "data/source/format.h"

namespace tundish {

bool looks_like_lmdb(const Probe& probe);

// Throws Error: source_damaged, format_unsupported, field_unclear, source_empty.
std::shared_ptr<const Source> open_lmdb(const std::string& path, const SourceOptions& options);

}  // namespace tundish
