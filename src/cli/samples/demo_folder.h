// The output folder of a demo: a dedicated folder, identified by a marker file, so that the user's
// files are never replaced or deleted.
#pragma once

#include <string>

namespace tundish::cli {

inline constexpr const char* kDemoMarker = "made-by-tundish-demo.txt";

// Creates and marks the folder if it is missing or empty, or reuses a marked folder. Throws
// UsageError if the folder has contents that no demo made, and Error if the system refuses.
void take_demo_folder(const std::string& path);

}  // namespace tundish::cli
