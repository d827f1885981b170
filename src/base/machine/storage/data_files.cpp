#include "base/machine/storage/data_files.h"

#include <sys/stat.h>

#include <filesystem>
#include <system_error>

#include "base/clock.h"

namespace tundish {
namespace {

namespace fs = std::filesystem;

void add_file(DataFiles& out, const std::string& path) {
  struct stat about{};
  if (::stat(path.c_str(), &about) != 0 || !S_ISREG(about.st_mode) || about.st_size <= 0) return;
  const auto bytes = static_cast<std::uint64_t>(about.st_size);
  out.files.push_back({.path = path, .bytes = bytes});
  out.bytes += bytes;
}

}  // namespace

DataFiles find_data_files(const std::string& path) {
  DataFiles out;
  std::error_code fault;
  if (!fs::is_directory(path, fault)) {
    add_file(out, path);
    return out;
  }
  const std::uint64_t end = now_ns() + 1'000'000'000;
  fs::recursive_directory_iterator at(path, fs::directory_options::skip_permission_denied, fault);
  while (!fault && at != fs::recursive_directory_iterator{}) {
    if (out.files.size() == kMaxDataFiles || now_ns() > end) {
      out.complete = false;
      break;
    }
    std::error_code unknown;
    if (!at->is_directory(unknown)) add_file(out, at->path().string());
    at.increment(fault);
  }
  return out;
}

}  // namespace tundish
