// A plan in words, as `tundish view` shows it under an image.
#pragma once

#include <string>
#include <vector>

#include "augment/plan.h"

namespace tundish::cli {

// One line per thing that was done: "crop 300x200+10+0", "to 224x224", "flip left-right", "rotate
// 12.3 deg". What a step leaves as it is, is left out.
std::vector<std::string> words_of_steps(const View& view);

}  // namespace tundish::cli
