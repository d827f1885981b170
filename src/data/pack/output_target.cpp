#include "data/pack/output_target.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>

#include "base/crc32c.h"

namespace tundish {
namespace {

constexpr std::size_t kMaxNameBytes = 200;  // limit of the target's name inside a hidden name

bool exists(const std::string& path) {
  struct stat status;
  return ::lstat(path.c_str(), &status) == 0;
}

[[noreturn]] void throw_exists(const std::string& path) {
  throw Error(ErrorCode::output_exists, {.file = path}, "");
}

std::string follow(const std::string& path) {
  struct stat status;
  if (::lstat(path.c_str(), &status) != 0 || !S_ISLNK(status.st_mode)) return path;
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr),
                                                         &std::free);
  return real ? real.get() : path;
}

}  // namespace

OutputTarget::OutputTarget(const std::string& target, bool replace)
    : path_(follow(target)), replace_(replace) {
  const std::size_t slash = path_.rfind('/');
  folder_ = slash == std::string::npos ? "." : path_.substr(0, slash + 1);
  name_ = slash == std::string::npos ? path_ : path_.substr(slash + 1);
  if (name_.empty()) {
    throw Error(ErrorCode::argument, {.file = target}, "the name of the file is missing");
  }
  struct stat status;
  if (::stat(path_.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    throw Error(ErrorCode::argument, {.file = target},
                S_ISDIR(status.st_mode) ? "it is a folder" : "it is no regular file");
  }
  if (!replace_ && exists(path_)) throw_exists(path_);
  const int directory = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) throw_errno(folder_, "open the folder", true);
  directory_ = File(directory, folder_);
}

std::string OutputTarget::hidden_name(const std::string& ending) const {
  if (name_.size() <= kMaxNameBytes) return fmt::format(".{}.{}", name_, ending);
  return fmt::format(".{}.{:08x}.{}", name_.substr(0, kMaxNameBytes),
                     crc32c(std::as_bytes(std::span(name_)), 0), ending);
}

void OutputTarget::take_over(const std::string& leaf) const {
  const std::string beside = this->beside(leaf);
  const char* from = beside.c_str();
  const char* to = path_.c_str();
  if (replace_) {
    if (::rename(from, to) != 0) throw_errno(path_, "rename", true);
    return;
  }
  if (::renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return;
  if (errno == EEXIST) throw_exists(path_);
  if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP) {
    throw_errno(path_, "rename", true);
  }
  // The file system lacks that flag. A hard link does not replace a file either.
  if (::link(from, to) == 0) {
    ::unlink(from);
    return;
  }
  if (errno == EEXIST || exists(path_)) throw_exists(path_);
  if (::rename(from, to) != 0) throw_errno(path_, "rename", true);
}

bool OutputTarget::sync_folder() const {
  // Some file systems cannot sync a folder and return EINVAL; they keep names durable themselves.
  return ::fsync(directory_.descriptor()) == 0 || errno == EINVAL;
}

}  // namespace tundish
