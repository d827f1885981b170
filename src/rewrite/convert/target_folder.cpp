#include "rewrite/convert/target_folder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "base/error.h"
#include "base/file.h"

namespace tundish {

TargetFolder::TargetFolder(const std::string& path) : path_(path) {
  std::error_code error;
  made_ = std::filesystem::create_directories(path, error);
  if (!error && !std::filesystem::is_directory(path, error)) {
    throw Error(ErrorCode::output_exists, {.file = path}, "it is a file, where a folder is needed");
  }
  if (!error) return;
  throw Error(code_of_errno(error.value(), true), {.file = path},
              fmt::format("making the folder: {}", error.message()));
}

TargetFolder::~TargetFolder() {
  if (made_) ::rmdir(path_.c_str());
}

}  // namespace tundish
