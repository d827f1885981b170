// Patterns for several files of one dataset: "shards/train-{000000..000146}.tar",
// "shards/train-*.tar".
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tundish {

// Maximum number of files that a dataset keeps open; further files are opened for each sample. By
// default, a process may have 1,024 open files.
inline constexpr std::size_t kMaxOpenFiles = 256;

// Returns true if a nonexistent path may be a pattern.
bool is_pattern(const std::string& path);

// Returns the paths of a pattern, at least one. {000..012} are numbers of that width, {a,b} texts,
// in this order. *, ? and [a-z] in the last part of the path match existing files, sorted by name,
// without hidden ones. Nested braces are plain text. Accepts any text. Throws Error:
// source_missing, argument (over a million paths, a glob in the name of a folder).
std::vector<std::string> expand_pattern(const std::string& path);

}  // namespace tundish
