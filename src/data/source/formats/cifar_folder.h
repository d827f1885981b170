// Lists the files of a CIFAR folder: data_batch_1 to data_batch_5 with test_batch, or train with
// test. In the binary version, names end in .bin.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tundish {

struct CifarFolder {
  std::vector<std::string> training;  // paths, in order
  std::vector<std::string> missing;   // names of missing training files
  std::string test;                   // name; empty: missing
};

// `ending`: ".bin", or "" for the Python version.
CifarFolder list_cifar_folder(const std::string& folder, std::string_view ending);

// Returns warnings about the folder: missing files, the place of the test set. Throws
// Error(source_empty) if there is no training set.
std::vector<std::string> check_cifar_folder(const CifarFolder& found, const std::string& folder,
                                            std::string_view ending);

}  // namespace tundish
