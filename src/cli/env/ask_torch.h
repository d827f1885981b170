// What Python knows of torch, asked without importing torch, which would take seconds.
#pragma once

#include "cli/shell.h"
#include "tools/environment/check_software.h"

namespace tundish::cli {

// Of the first Python that has tundish: the one beside the program, $VIRTUAL_ENV's, python3. Empty
// when there is none, or when it fails.
TorchVersions ask_torch(const Shell& shell);

}  // namespace tundish::cli
