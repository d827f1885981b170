// Errors as lines of text, for the verbs that find many.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "cli/shell.h"

namespace tundish::cli {

// Formats "TND-405  record 12 (a/b.jpg) has damaged image data at byte 88: ...". Omits the file
// name and the fix, which every line would repeat.
std::string finding_line(const Error& error);

// Prints the first of many errors to stderr, and the number of the rest. With --quiet, prints only
// if the errors cause the nonzero exit code.
void warn_of_errors(const std::vector<Error>& errors, bool is_failure, const Shell& shell);

}  // namespace tundish::cli
