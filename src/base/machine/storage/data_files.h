// The files of a dataset on a disk, or enough files to measure reading.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tundish {

struct DataFile {
  std::string path;
  std::uint64_t bytes = 0;
};

struct DataFiles {
  std::vector<DataFile> files;  // regular, not empty
  std::uint64_t bytes = 0;      // total size of `files`
  bool complete = true;         // false: the dataset has more files
};

inline constexpr std::size_t kMaxDataFiles = 4096;

// Returns the path itself if it is a file. For a folder, returns files at any depth until there are
// kMaxDataFiles or a second has passed. Follows links to files but not to folders.
DataFiles find_data_files(const std::string& path);

}  // namespace tundish
