// The output of tundish pack: the source, the result as text and as JSON, the bad samples.
#pragma once

#include <string>

#include "cli/json.h"
#include "cli/shell.h"
#include "data/pack/write/writer.h"

namespace tundish::cli {

// Returns "image folder, 10 classes, 1,234 samples, 140.2 MB".
std::string describe_source(const Source& source, std::uint64_t bytes);

// Describes labels without a class name; empty if every label has a name.
std::string unnamed_labels_text(const PackReport& report, const Source& source);

// Prints the first refused and broken samples and their counts to stderr. With --quiet, prints only
// refused samples, and only if they are a failure. Also reports labels without a name.
void warn_of_samples(const PackReport& report, const Source& source, bool skip_bad,
                     const Shell& shell);

// Returns an array of {sample, key, code, message}.
Json refusals_json(const std::vector<Refusal>& samples);

Json report_json(const std::string& target, const Source& source, const PackReport& report,
                 double seconds, const std::string& log, bool dry_run);

// `stripped`: JPEGs were re-encoded without their metadata.
void print_summary(const std::string& target, const PackReport& report, bool stripped,
                   double seconds, const std::string& log, const Shell& shell);

}  // namespace tundish::cli
