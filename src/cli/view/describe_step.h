// Describes a plan in words, as `tundish view` shows it under an image.
#pragma once

#include <string>
#include <vector>

#include "augment/plan.h"

namespace tundish::cli {

// Returns one line per effect: "crop 300x200+10+0", "to 224x224", "flip left-right", "rotate
// 12.3 deg". Omits parts of a step that have no effect.
std::vector<std::string> describe_steps(const View& view);

}  // namespace tundish::cli
