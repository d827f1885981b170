// Findings about the machine as text for a terminal and for issue trackers.
#pragma once

#include <string>

#include "tools/environment/finding.h"

namespace tundish::cli {

std::size_t count_of(const Findings& findings, Level level);
Level worst_level(const Findings& findings);

// Prints one line per finding, followed by reason and fix, and finally a count per level.
std::string environment_text(const Findings& findings, bool color);

// The same as a table for an issue. Escapes any text, so that nothing ends a cell or a line.
std::string environment_markdown(const Findings& findings);

}  // namespace tundish::cli
