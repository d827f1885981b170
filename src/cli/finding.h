// One defect of a data set as one line of a list.
#pragma once

#include <string>

#include "base/error.h"

namespace tundish::cli {

// Formats "TND-405  record 12 (a/b.jpg) has damaged image data at byte 88: ...". Omits the file
// name and the fix, which every line would repeat.
std::string finding_line(const Error& error);

}  // namespace tundish::cli
