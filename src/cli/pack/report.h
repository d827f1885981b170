// What tundish pack prints: the source, the result as text and as JSON, the samples that are bad.
#pragma once

#include <string>

#include "cli/json.h"
#include "cli/shell.h"
#include "data/pack/write/writer.h"

namespace tundish::cli {

// "image folder, 10 classes, 1,234 samples, 140.2 MB"
std::string describe_source(const Source& source, std::uint64_t bytes);

// What to say of labels without a name; empty where every label has one.
std::string unnamed_labels_text(const PackReport& report, const Source& source);

// The first refused and broken samples on stderr, and how many there are. With --quiet refused
// ones only, and only where they are a failure. Also labels without a name.
void warn_of_samples(const PackReport& report, const Source& source, bool skip_bad,
                     const Shell& shell);

// An array of {sample, key, code, message}.
Json refusals_json(const std::vector<Refusal>& samples);

Json report_json(const std::string& target, const Source& source, const PackReport& report,
                 double seconds, const std::string& log, bool dry_run);

// `stripped`: JPEGs were re-coded without their metadata.
void print_summary(const std::string& target, const PackReport& report, bool stripped,
                   double seconds, const std::string& log, const Shell& shell);

}  // namespace tundish::cli
