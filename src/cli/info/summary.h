// `tundish info`: the contents of a dataset, in a few lines.
#pragma once

#include <string>

#include "cli/shell.h"
#include "data/source/source.h"

namespace tundish::cli {

// Prints kind, counts, classes, codecs and sizes of `source`; with --json, one object. Reads the
// index, not the records. Throws Error.
void print_summary(const Source& source, const std::string& file, const Shell& shell);

}  // namespace tundish::cli
