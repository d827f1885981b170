// Finds the .tar archives (shards) of one dataset in a folder.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace tundish {

// Detects an archive by its first 512 bytes and its name. Archives without tar's mark are detected
// by name, and so is the content of a compressed file.
bool is_tar_file(Bytes first, const std::string& name);

// Returns true if all files are archives, except hidden files and notes (.json, .txt, .md, .idx).
bool is_tar_folder(const std::string& path);

// Returns sorted names. Throws Error: format_unsupported if they belong to several sets
// (train-0.tar and val-0.tar).
std::vector<std::string> list_tars(const std::string& path);

// Returns the distinguishing parts of archive names, for keys: "train-000" for "train-000.tar.gz".
// Includes folders if two names are equal, and endings if only these differ.
std::vector<std::string> archive_names(std::span<const std::string> files);

}  // namespace tundish
