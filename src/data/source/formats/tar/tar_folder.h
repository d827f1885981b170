// Which files of a folder are the .tar archives (shards) of one data set.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace tundish {

// Whether a file is an archive, by its first 512 bytes and its name. Archives without tar's mark
// are known by their name, and so is what a compressed file holds.
bool is_tar_file(Bytes first, const std::string& name);

// Whether all files are archives, beside hidden files and notes (.json, .txt, .md, .idx).
bool is_tar_folder(const std::string& path);

// Their names, sorted. Throws Error: format_unsupported when they are of several sets (train-0.tar
// and val-0.tar).
std::vector<std::string> list_tars(const std::string& path);

// What distinguishes archives, for keys: "train-000" of "train-000.tar.gz", with folders where two
// have one name, and with endings where only those differ.
std::vector<std::string> archive_names(std::span<const std::string> files);

}  // namespace tundish
