// Writes a whole file at once.
#pragma once

#include <string>

#include "base/bytes.h"

namespace tundish::cli {

// Writes `target`, which appears only when complete. Throws Error, and Error(output_exists) for an
// existing file unless `replace` is set.
void write_file(const std::string& target, bool replace, Bytes bytes);

}  // namespace tundish::cli
