// Findings about the machine as people and issue trackers read them.
#pragma once

#include <string>

#include "tools/environment/finding.h"

namespace tundish::cli {

std::size_t count_of(const Findings& findings, Level level);
Level worst_level(const Findings& findings);

// One line per finding, below it what is wrong and the fix; at the end how many there are of each.
std::string environment_text(const Findings& findings, bool color);

// The same as a table for an issue. Any text: nothing in it can end a cell or a line.
std::string environment_markdown(const Findings& findings);

}  // namespace tundish::cli
