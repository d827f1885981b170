// Findings about the machine as JSON.
#pragma once

#include "cli/json.h"
#include "tools/environment/finding.h"

namespace tundish::cli {

// Returns {version, worst, counts, seconds, findings}.
Json environment_json(const Findings& findings, double seconds);

}  // namespace tundish::cli
