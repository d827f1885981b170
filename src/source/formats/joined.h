// Several sources concatenated to one: sample 0 of the second follows the last of the
// first. For mixtures.
#pragma once

#include <memory>
#include <vector>

#include "source/source.h"

namespace tundish {

// All must have the same fields and class names. Throws Error(argument) that names the difference.
std::shared_ptr<const Source> join_sources(std::vector<std::shared_ptr<const Source>> sources);

}  // namespace tundish
