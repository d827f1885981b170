// MXNet's RecordIO: a .rec file of images written by mx.recordio.pack(), or of plain images.
//
// With NAME.idx beside NAME.rec, the samples are the records listed in the .idx file, in its order.
// Without it, all records are samples, in file order. Opening reads the heads of all records once
// and stores an index beside the file.
#pragma once

#include <memory>
#include <string>

#include "data/source/format.h"

namespace tundish {

bool looks_like_recordio(const Probe& probe);

// Throws Error: source_damaged, format_unsupported, field_unclear, source_empty.
std::shared_ptr<const Source> open_recordio(const std::string& path, const SourceOptions& options);

}  // namespace tundish
