// Patterns that name several files of one data set: "shards/train-{000000..000146}.tar",
// "shards/train-*.tar".
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tundish {

// A data set keeps so many files open; further ones are opened for each sample. Processes may have
// 1,024 open files, where nobody allowed more.
inline constexpr std::size_t kMaxOpenFiles = 256;

// Whether a path that does not exist may be meant as a pattern.
bool is_pattern(const std::string& path);

// The paths that it stands for, at least one. {000..012} are numbers of that width, {a,b} texts, in
// this order; *, ? and [a-z] in the last part of the path are files that exist, sorted by name,
// without hidden ones. Braces inside of braces are plain text. Any text. Throws Error:
// source_missing, argument (over a million paths, a glob in the name of a folder).
std::vector<std::string> expand_pattern(const std::string& path);

}  // namespace tundish
