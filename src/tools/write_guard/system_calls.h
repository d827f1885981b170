// System calls without the functions of the C library, which are replaced.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace tundish::guard {

inline bool read_status(const char* path, struct stat& about, int flags = AT_SYMLINK_NOFOLLOW) {
  return ::syscall(SYS_newfstatat, AT_FDCWD, path, &about, flags) == 0;
}

inline bool is_there(const char* path) {
  struct stat about;
  return read_status(path, about);
}

inline long read_link(const char* path, char* out, std::size_t size) {
  return ::syscall(SYS_readlinkat, AT_FDCWD, path, out, size);
}

inline int open_file(const char* path, int flags, unsigned mode = 0) {
  return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, mode));
}

inline void close_file(int file) {
  const int error = errno;
  ::syscall(SYS_close, file);
  errno = error;
}

// True also if there is one.
inline bool make_folder(const char* path, unsigned mode) {
  return ::syscall(SYS_mkdirat, AT_FDCWD, path, mode) == 0 || errno == EEXIST;
}

inline bool set_mode(const char* path, unsigned mode) {
  return ::syscall(SYS_fchmodat, AT_FDCWD, path, mode) == 0;
}

inline bool remove_name(const char* path, int flags = 0) {
  return ::syscall(SYS_unlinkat, AT_FDCWD, path, flags) == 0;
}

inline bool move_name(const char* from, const char* to) {
  return ::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0) == 0;
}

inline bool may_write(const char* path) {
  return ::syscall(SYS_faccessat, AT_FDCWD, path, W_OK) == 0;
}

inline bool fail(int error) {
  errno = error;
  return false;
}

}  // namespace tundish::guard
