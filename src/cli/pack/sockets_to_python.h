// How Python's tundish.pack(dataset, ...) passes its samples to the program. Internal, so it is not
// an option: the environment variable kSocketsVariable lists inherited sockets ("5,6,7"). The
// argument SRC is then only a name for messages.
#pragma once

#include <vector>

namespace tundish::cli {

inline constexpr const char* kSocketsVariable = "TUNDISH_SAMPLE_SOCKETS";

// Returns nothing if the variable is not set. Throws UsageError if it is not a list of numbers.
std::vector<int> sockets_to_python();

}  // namespace tundish::cli
