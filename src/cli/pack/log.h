// OUT.tnd.log: the samples that tundish pack refused, and broken samples that it packed anyway.
#pragma once

#include <string>

#include "cli/shell.h"
#include "data/pack/write/writer.h"

namespace tundish::cli {

// Throws UsageError or Error unless the log may be written: over an older log, or with `force`.
void check_log(const std::string& target, bool force);

// Rewrites the log beside the pack, or removes the log if there is nothing to report. Replaces a
// file that is not a log only if `force`. Returns the log's name, or an empty string.
std::string write_log(const std::string& target, const PackReport& report, bool force,
                      const Shell& shell);

}  // namespace tundish::cli
