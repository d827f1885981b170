// Verbs and options that were renamed or merged into another verb.
#pragma once

#include <string>

namespace tundish::cli {

// Throws UsageError with the new spelling if `verb` was renamed: "'stats' is now 'tundish info
// --stats'".
void check_verb_not_renamed(const std::string& verb);

// Throws UsageError with the new spelling if `option` of `verb` was renamed: "--batch is now
// --batch-size".
void check_option_not_renamed(const std::string& verb, const std::string& option);

}  // namespace tundish::cli
