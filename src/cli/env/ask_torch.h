// Asks Python for the versions around torch without importing torch, which would take seconds.
#pragma once

#include "cli/shell.h"
#include "tools/environment/check_software.h"

namespace tundish::cli {

// Queries the first Python that has tundish: the one beside the program, $VIRTUAL_ENV's, python3.
// Returns an empty result if there is none or if it fails.
TorchVersions ask_torch(const Shell& shell);

}  // namespace tundish::cli
