// Something wrong with a data set, on one line of a list.
#pragma once

#include <string>

#include "base/error.h"

namespace tundish::cli {

// "TND-405  record 12 (a/b.jpg) has damaged image data at byte 88: ...", without the file's name
// and the fix, which every line would repeat.
std::string finding_line(const Error& error);

}  // namespace tundish::cli
