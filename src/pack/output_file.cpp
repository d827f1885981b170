#include "pack/output_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace tundish {
namespace {

constexpr std::size_t kMaxNameBytes = 200;  // of the target's name in the temporary one's

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

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

// Whether the writer of a temporary file is gone. The lock tells, also between containers that
// see different process numbers; where the file system has no locks, the number has to do.
bool is_left_over(int descriptor, std::string_view pid_text) {
  if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return true;
  if (errno == EWOULDBLOCK || errno == EINTR) return false;
  pid_t pid = 0;
  std::from_chars(pid_text.data(), pid_text.data() + pid_text.size(), pid);
  return pid > 0 && ::kill(pid, 0) != 0 && errno == ESRCH;
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
  sweep();
  create();
}

OutputFile::Temporary::~Temporary() {
  if (!path.empty()) ::unlink(path.c_str());
}

void OutputFile::create() {
  const std::string base = folder_ + '/' + prefix_ + std::to_string(::getpid());
  for (int attempt = 0; attempt < 100; ++attempt) {
    // All memory is taken before the file is there.
    std::string path = attempt == 0 ? base : fmt::format("{}.{}", base, attempt);
    std::string name = target_;
    const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor < 0) {
      // Another thread of this process writes the same target, or a process of that number
      // in another container.
      if (errno == EEXIST) continue;
      throw_errno(target_, "create a temporary file beside it", true);
    }
    temporary_.path = std::move(path);
    file_ = File(descriptor, std::move(name));
    // Between open and flock a sweeper may have thought the file left over.
    struct stat status;
    const bool taken = ::flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    const bool swept = ::fstat(descriptor, &status) == 0 && status.st_nlink == 0;
    if (!taken && !swept) return;
    temporary_.path.clear();
  }
  throw Error(ErrorCode::io_write, {.file = target_}, "no name is left for a temporary file");
}

void OutputFile::sweep() const {
  const std::unique_ptr<DIR, CloseFolder> folder(::opendir(folder_.c_str()));
  if (!folder) return;
  while (const dirent* entry = ::readdir(folder.get())) {
    const std::string_view name = entry->d_name;
    if (!name.starts_with(prefix_)) continue;
    const std::string_view pid = name.substr(prefix_.size());
    if (pid.empty() || pid.find_first_not_of("0123456789.") != std::string_view::npos) continue;
    const int descriptor = ::openat(::dirfd(folder.get()), entry->d_name,
                                    O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) continue;
    if (is_left_over(descriptor, pid)) ::unlinkat(::dirfd(folder.get()), entry->d_name, 0);
    ::close(descriptor);
  }
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
  // Some file systems cannot sync a folder and say EINVAL; they keep names safe by themselves.
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
