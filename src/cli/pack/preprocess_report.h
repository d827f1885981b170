// The results of preprocessing, as text and as JSON.
#pragma once

#include <string>
#include <string_view>

#include "cli/json.h"
#include "data/pack/write/preprocess.h"

namespace tundish::cli {

// Returns {options, changed, kept, kept_smaller, bytes_before, bytes_after}.
Json preprocess_report_json(const Preprocessor& preprocessor, const PreprocessReport& report);

// "1,000 images changed, 140.2 MB became 20.1 MB; 12 kept as they came (would grow 12)"
std::string preprocess_text(const PreprocessReport& report);

// Describes an opened pack from its metadata: "shortest=256, auto:q90:420: ..."; empty if nothing
// was preprocessed. Avoids a parser: hostile metadata must not exhaust the memory.
std::string preprocess_of_metadata(std::string_view metadata);

// Returns the number after a key in the packer's own JSON; 0 if missing. Avoids a parser, because
// this code must not run out of memory.
std::uint64_t number_after(std::string_view json, std::string_view key);

}  // namespace tundish::cli
