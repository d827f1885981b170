// The names allowed in a pickle, as data: nothing is looked up or called in Python.
#pragma once

#include <string_view>

namespace tundish {

// "module.name" of containers, NumPy arrays, torch tensors, storages and types.
bool pickle_name_allowed(std::string_view name);

}  // namespace tundish
