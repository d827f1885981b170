#include "data/source/formats/cifar_folder.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include "base/error.h"
#include "data/source/names.h"

namespace tundish {
namespace {

bool is_file(const std::string& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace

CifarFolder list_cifar_folder(const std::string& folder, std::string_view ending) {
  CifarFolder out;
  for (int i = 1; i <= 5; ++i) {
    std::string name = fmt::format("data_batch_{}{}", i, ending);
    if (std::string path = join_path(folder, name); is_file(path)) {
      out.training.push_back(std::move(path));
    } else {
      out.missing.push_back(std::move(name));
    }
  }
  if (out.training.empty()) {
    out.missing.clear();
    std::string path = join_path(folder, fmt::format("train{}", ending));
    if (is_file(path)) out.training.push_back(std::move(path));
  }
  for (const char* name : {"test_batch", "test"}) {
    const std::string test = fmt::format("{}{}", name, ending);
    if (out.test.empty() && is_file(join_path(folder, test))) out.test = test;
  }
  return out;
}

std::vector<std::string> check_cifar_folder(const CifarFolder& found, const std::string& folder,
                                            std::string_view ending) {
  if (found.training.empty()) {
    std::string reason = fmt::format("it has no data_batch_1{} or train{}", ending, ending);
    if (!found.test.empty()) {
      reason += fmt::format("; its test set is the file {}", join_path(folder, found.test));
    }
    throw Error(ErrorCode::source_empty, {.file = folder}, reason);
  }
  std::vector<std::string> out;
  if (!found.test.empty()) {
    out.push_back(fmt::format(
        "a folder of CIFAR: this is its training set; the test set is the file {}", found.test));
  }
  if (!found.missing.empty()) {
    out.push_back(fmt::format("{} of the 5 files of the training set exist; missing: {}",
                              found.training.size(), fmt::join(found.missing, ", ")));
  }
  return out;
}

}  // namespace tundish
