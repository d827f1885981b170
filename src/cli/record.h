// One record as `info --list` and `unpack --record` show it.
#pragma once

#include <string>

#include "cli/json.h"
#include "data/source/labels.h"
#include "data/source/source.h"

namespace tundish::cli {

// Empty where the codec is not known before the bytes are read: only a pack knows it.
std::string codec_text(const Source& source, const SampleInfo& info);

// {record, key, label, class, codec, width, height}; null what is not known. Reads the name, not
// the record.
Json record_json(const Source& source, std::uint64_t record);

}  // namespace tundish::cli
