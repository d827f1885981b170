#pragma once

#include <string>
#include <vector>

namespace tundish {

// A library that is linked in. `version` is empty when this build goes without it.
struct LinkedLibrary {
  std::string name;
  std::string version;  // "2.1.5"
};

// What the engine is linked with, in a fixed order. The CUDA runtime is part of libtundish.so alone
// and listed whenever it was built with it.
std::vector<LinkedLibrary> linked_libraries();

}  // namespace tundish
