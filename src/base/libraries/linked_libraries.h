#pragma once

#include <string>
#include <vector>

namespace tundish {

// A linked library. `version` is empty if this build does without the library.
struct LinkedLibrary {
  std::string name;
  std::string version;  // "2.1.5"
};

// Returns the libraries of the engine, in a fixed order. The CUDA runtime is linked only into
// libtundish.so, and is listed if this build includes it.
std::vector<LinkedLibrary> linked_libraries();

}  // namespace tundish
