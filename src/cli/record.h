// One record, as shown by `info --list` and `unpack --record`.
#pragma once

#include <string>

#include "cli/json.h"
#include "data/source/labels.h"
#include "data/source/source.h"

namespace tundish::cli {

// Empty if the codec is unknown before the bytes are read: only a pack stores it.
std::string codec_text(const Source& source, const SampleInfo& info);

// Returns {record, key, label, class, codec, width, height}; unknown values are null. Reads the
// name but not the record.
Json record_json(const Source& source, std::uint64_t record);

}  // namespace tundish::cli
