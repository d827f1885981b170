// Several sources concatenated to one: sample 0 of the second follows the last of the
// first. For mixtures.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/source/source.h"

namespace tundish {

// All must have the same fields and class names. Throws Error(argument) that names the difference.
// `path`: what they are called together; empty: the names of all.
std::shared_ptr<const Source> join_sources(std::vector<std::shared_ptr<const Source>> sources,
                                           const std::string& path = {});

}  // namespace tundish
