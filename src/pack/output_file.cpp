#include "pack/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "core/temporary_file.h"

namespace tundish {
namespace {

constexpr std::size_t kMaxNameBytes = 200;  // of the target's name in the temporary one's

bool exists(const std::string& path) {
  struct stat status;
  return ::lstat(path.c_str(), &status) == 0;
}

[[noreturn]] void throw_exists(const std::string& path) {
  throw Error(ErrorCode::output_exists, {.file = path}, "");
}

// Where a link leads, so that the file is replaced and not the link.
std::string follow(const std::string& path) {
  struct stat status;
  if (::lstat(path.c_str(), &status) != 0 || !S_ISLNK(status.st_mode)) return path;
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr),
                                                         &std::free);
  return real ? real.get() : path;
}

}  // namespace

OutputFile::OutputFile(const std::string& target, bool replace)
    : target_(follow(target)), replace_(replace) {
  const std::size_t slash = target_.rfind('/');
  folder_ = slash == std::string::npos ? "." : target_.substr(0, slash + 1);
  const std::string name = slash == std::string::npos ? target_ : target_.substr(slash + 1);
  if (name.empty()) {
    throw Error(ErrorCode::argument, {.file = target}, "the name of the file is missing");
  }
  prefix_ = '.' + name.substr(0, kMaxNameBytes) + ".tmp.";

  struct stat status;
  if (::stat(target_.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    throw Error(ErrorCode::argument, {.file = target},
                S_ISDIR(status.st_mode) ? "it is a folder" : "it is no regular file");
  }
  if (!replace_ && exists(target_)) throw_exists(target_);

  const int directory = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) throw_errno(folder_, "open the folder", true);
  directory_ = File(directory, folder_);
  sweep_temporaries(directory_.descriptor(), prefix_);
  create();
}

OutputFile::Temporary::~Temporary() {
  if (!path.empty()) ::unlink(path.c_str());
}

void OutputFile::create() {
  const std::string base = prefix_ + std::to_string(::getpid());
  for (int attempt = 0; attempt < 100; ++attempt) {
    // All memory is taken before the file exists.
    const std::string leaf = attempt == 0 ? base : fmt::format("{}.{}", base, attempt);
    std::string path = folder_ + '/' + leaf;
    std::string name = target_;
    const int descriptor = make_temporary(directory_.descriptor(), leaf.c_str());
    if (descriptor < 0) {
      // Another thread of this process writes the same target, or a process of that number
      // in another container; or a sweeper was faster.
      if (errno == EEXIST || errno == EAGAIN) continue;
      throw_errno(target_, "create a temporary file beside it", true);
    }
    temporary_.path = std::move(path);
    file_ = File(descriptor, std::move(name));
    return;
  }
  throw Error(ErrorCode::io_write, {.file = target_}, "no name is left for a temporary file");
}

void OutputFile::reserve(std::uint64_t bytes) {
  if (bytes == 0) return;
  int result;
  do {
    result = ::fallocate(file_.descriptor(), 0, 0, static_cast<off_t>(bytes));
  } while (result != 0 && errno == EINTR);
  if (result == 0 || errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL) return;
  throw_errno(target_, fmt::format("reserve {} bytes", with_commas(bytes)).c_str(), true);
}

void OutputFile::commit(std::uint64_t bytes) {
  if (::ftruncate(file_.descriptor(), static_cast<off_t>(bytes)) != 0) {
    throw_errno(target_, "set the size", true);
  }
  // Never tried again: after a failure the kernel calls the lost pages clean.
  if (::fsync(file_.descriptor()) != 0) throw_errno(target_, "fsync", true);
  rename_into_place();
  temporary_.path.clear();
  // Some file systems cannot sync a folder and return EINVAL; they keep names safe by themselves.
  if (::fsync(directory_.descriptor()) != 0 && errno != EINVAL) {
    throw_errno(target_, "the file is complete, but fsync of its folder failed", true);
  }
}

void OutputFile::rename_into_place() {
  const char* from = temporary_.path.c_str();
  const char* to = target_.c_str();
  if (replace_) {
    if (::rename(from, to) != 0) throw_errno(target_, "rename", true);
    return;
  }
  if (::renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return;
  if (errno == EEXIST) throw_exists(target_);
  if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP) {
    throw_errno(target_, "rename", true);
  }
  // A file system without that flag. A hard link does not replace either.
  if (::link(from, to) == 0) {
    ::unlink(from);
    return;
  }
  if (errno == EEXIST || exists(target_)) throw_exists(target_);
  if (::rename(from, to) != 0) throw_errno(target_, "rename", true);
}

}  // namespace tundish
