#include "base/temporary_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <memory>

namespace tundish {
namespace {

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

// The lock decides, even between containers with different process numbers. On a file system
// without locks, the process number decides.
bool is_left_over(int descriptor, std::string_view pid_text) {
  if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return true;
  if (errno == EWOULDBLOCK || errno == EINTR) return false;
  pid_t pid = 0;
  std::from_chars(pid_text.data(), pid_text.data() + pid_text.size(), pid);
  return pid > 0 && ::kill(pid, 0) != 0 && errno == ESRCH;
}

}  // namespace

int make_temporary(int folder, const char* name) {
  const int descriptor =
      ::openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (descriptor < 0) return descriptor;
  // Between open and flock, a sweeper may have taken the file for a leftover.
  struct stat status;
  const bool taken = ::flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  const bool swept = ::fstat(descriptor, &status) == 0 && status.st_nlink == 0;
  if (!taken && !swept) return descriptor;
  ::close(descriptor);
  errno = EAGAIN;
  return -1;
}

void sweep_temporaries(int folder, std::string_view prefix) {
  const int copy = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, CloseFolder> listing(copy < 0 ? nullptr : ::fdopendir(copy));
  if (!listing) {
    if (copy >= 0) ::close(copy);
    return;
  }
  while (const dirent* entry = ::readdir(listing.get())) {
    const std::string_view name = entry->d_name;
    if (!name.starts_with(prefix)) continue;
    const std::string_view pid = name.substr(prefix.size());
    if (pid.empty() || pid.find_first_not_of("0123456789.") != std::string_view::npos) continue;
    const int descriptor =
        ::openat(folder, entry->d_name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) continue;
    if (is_left_over(descriptor, pid)) ::unlinkat(folder, entry->d_name, 0);
    ::close(descriptor);
  }
}

}  // namespace tundish
