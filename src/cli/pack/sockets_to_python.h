// How tundish.pack(dataset, ...) of Python hands its samples to the program. Not for users, and
// therefore no option: the environment variable kSocketsVariable lists sockets that the program
// inherited ("5,6,7"). The word SRC is then a name for messages.
#pragma once

#include <vector>

namespace tundish::cli {

inline constexpr const char* kSocketsVariable = "TUNDISH_SAMPLE_SOCKETS";

// Empty when the variable is not set. Throws UsageError when it is no list of numbers.
std::vector<int> sockets_to_python();

}  // namespace tundish::cli
