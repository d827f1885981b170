// The files of a data set on a disk, or enough of them to measure reading.
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
  std::uint64_t bytes = 0;      // of these files
  bool complete = true;         // false: there are more
};

inline constexpr std::size_t kMaxDataFiles = 4096;

// A file is itself; of a folder, files at any depth until there are kMaxDataFiles, or a second has
// passed. Links to files are followed, links to folders are not. Empty when there is nothing.
DataFiles find_data_files(const std::string& path);

}  // namespace tundish
