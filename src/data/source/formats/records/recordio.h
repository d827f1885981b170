// MXNet's RecordIO: a .rec file of images that mx.recordio.pack() wrote, or of plain images.
//
// With NAME.idx beside NAME.rec the samples are those that the .idx file names, in its order;
// without it all records in the order of the file. Opening reads the heads of all records once and
// keeps what it found beside the file.
#pragma once

#include <memory>
#include <string>

#include "data/source/format.h"

namespace tundish {

bool looks_like_recordio(const Probe& probe);

// Throws Error: source_damaged, format_unsupported, field_unclear, source_empty.
std::shared_ptr<const Source> open_recordio(const std::string& path, const SourceOptions& options);

}  // namespace tundish
