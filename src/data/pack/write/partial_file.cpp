#include "data/pack/write/partial_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace tundish {

PartialFile::PartialFile(const std::string& target, bool replace, std::string leaf)
    : target_(target, replace), leaf_(std::move(leaf)) {
  const int folder = target_.folder_descriptor();
  const auto open = [&](int more) {
    return ::openat(folder, leaf_.c_str(),
                    O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | more, 0666);
  };
  std::string name = target_.path();
  int descriptor = open(0);
  struct stat status;
  // Never writes into a file of another user, or a file with a second name.
  if (descriptor >= 0 && (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode) ||
                          status.st_nlink != 1 || status.st_uid != ::geteuid())) {
    ::close(descriptor);
    ::unlinkat(folder, leaf_.c_str(), 0);
    descriptor = open(O_EXCL);
    status.st_size = 0;
  }
  if (descriptor < 0) throw_errno(target_.path(), "create a temporary file beside it", true);
  had_contents_ = status.st_size > 0;
  file_ = File(descriptor, std::move(name));
}

void PartialFile::reserve(std::uint64_t bytes) {
  if (bytes == 0) return;
  int result;
  do {
    result = ::fallocate(file_.descriptor(), 0, 0, static_cast<off_t>(bytes));
  } while (result != 0 && errno == EINTR);
  if (result == 0 || errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL) return;
  throw_errno(path(), fmt::format("reserve {} bytes", with_commas(bytes)).c_str(), true);
}

void PartialFile::sync() {
  // Never retried: after a failure the kernel marks the lost pages as clean.
  if (::fsync(file_.descriptor()) != 0) throw_errno(path(), "fsync", true);
  if (!name_is_durable_ && !target_.sync_folder()) throw_errno(path(), "fsync its folder", true);
  name_is_durable_ = true;
}

void PartialFile::set_size(std::uint64_t bytes) {
  if (is_published_) return;
  if (::ftruncate(file_.descriptor(), static_cast<off_t>(bytes)) != 0) {
    throw_errno(path(), "set the size", true);
  }
}

void PartialFile::seal(std::uint64_t bytes) {
  set_size(bytes);
  if (::fsync(file_.descriptor()) != 0) throw_errno(path(), "fsync", true);
}

void PartialFile::publish() {
  target_.take_over(leaf_);
  is_published_ = true;
  if (!target_.sync_folder()) {
    throw_errno(path(), "the file is complete, but fsync of its folder failed", true);
  }
}

void PartialFile::discard() {
  if (!is_published_) ::unlinkat(target_.folder_descriptor(), leaf_.c_str(), 0);
}

}  // namespace tundish
