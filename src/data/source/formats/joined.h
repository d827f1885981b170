// Concatenates several sources: sample 0 of the second source follows the last sample of the
// first. Used for mixtures.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/source/source.h"

namespace tundish {

// All must have the same fields and class names. Throws Error(argument) that names the difference.
// `path`: name of the joined source; empty: the names of all sources.
std::shared_ptr<const Source> join_sources(std::vector<std::shared_ptr<const Source>> sources,
                                           const std::string& path = {});

}  // namespace tundish
