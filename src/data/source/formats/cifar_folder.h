// The files of a CIFAR folder: data_batch_1 to data_batch_5 with test_batch, or train with test.
// The binary version's names end with .bin.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tundish {

struct CifarFolder {
  std::vector<std::string> training;  // paths, in order
  std::vector<std::string> missing;   // names of the training set that are not there
  std::string test;                   // name; empty: not there
};

// `ending`: ".bin", or "" of the Python version.
CifarFolder list_cifar_folder(const std::string& folder, std::string_view ending);

// What a user should know of the folder: files that are missing, where the test set is. Throws
// Error(source_empty) when it has no training set.
std::vector<std::string> check_cifar_folder(const CifarFolder& found, const std::string& folder,
                                            std::string_view ending);

}  // namespace tundish
