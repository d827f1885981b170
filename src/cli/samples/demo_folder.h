// The folder a demo writes into: a separate one, known by a marker file, so that nothing of the
// user's is ever replaced or deleted.
#pragma once

#include <string>

namespace tundish::cli {

inline constexpr const char* kDemoMarker = "made-by-tundish-demo.txt";

// Makes the folder and marks it, when it is missing or empty; one that is marked already is taken
// again. Throws UsageError when it holds what no demo made, Error when the system refuses.
void take_demo_folder(const std::string& path);

}  // namespace tundish::cli
