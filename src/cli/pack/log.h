// OUT.tnd.log: the samples that tundish pack refused, and those it packed although they are broken.
#pragma once

#include <string>

#include "cli/shell.h"
#include "data/pack/write/writer.h"

namespace tundish::cli {

// The log may replace an older log, and nothing else unless `force`. Throws UsageError and Error.
void check_log(const std::string& target, bool force);

// The log belongs to the pack beside it: written again, or removed when there is nothing to report.
// A file that is no such log stays unless `force`. Returns its name, or empty.
std::string write_log(const std::string& target, const PackReport& report, bool force,
                      const Shell& shell);

}  // namespace tundish::cli
