// A whole file, written at once.
#pragma once

#include <string>

#include "base/bytes.h"

namespace tundish::cli {

// Writes `target`; it appears when it is complete. Throws Error, and Error(output_exists) unless
// `replace` allows to replace it.
void write_file(const std::string& target, bool replace, Bytes bytes);

}  // namespace tundish::cli
