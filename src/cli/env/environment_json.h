// Findings about the machine for programs.
#pragma once

#include "cli/json.h"
#include "tools/environment/finding.h"

namespace tundish::cli {

// {version, worst, counts, seconds, findings}
Json environment_json(const Findings& findings, double seconds);

}  // namespace tundish::cli
