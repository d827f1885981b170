// Outputs that would replace files of the source while later outputs still need them.
#pragma once

#include <string>
#include <vector>

#include "data/source/source.h"

namespace tundish {

// Returns the first of the files that the source reads; empty if there is none.
std::string find_own_file(const Source& source, const std::vector<std::string>& outputs);

// Returns the file of the source that has the name of a shard of `target`; empty if there is none.
std::string find_own_shard(const Source& source, const std::string& target);

}  // namespace tundish
