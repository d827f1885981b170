// The functions that make, remove, move and change files by name, and those that change the
// attributes of an open file.
#include <sys/time.h>
#include <sys/xattr.h>
#include <utime.h>

#include <cstdio>

#include "tools/write_guard/generation.h"
#include "tools/write_guard/redirect.h"
#include "tools/write_guard/replace.h"
#include "tools/write_guard/system_calls.h"

using namespace tundish::guard;

namespace {

bool is_on() { return settings().on; }

// Without the sticky bit, which marks the stand-ins of a listing.
mode_t plain(mode_t mode) { return is_on() ? mode & ~static_cast<mode_t>(S_ISVTX) : mode; }

// The result of making a folder or a link, which other paths may lead through.
int counted(int result) {
  const int error = errno;
  if (is_on()) count_change();
  errno = error;
  return result;
}

Last last_of(int flags) { return (flags & AT_SYMLINK_NOFOLLOW) != 0 ? Last::keep : Last::follow; }

}  // namespace

// --- remove and move ----------------------------------------------------------------------------

TUNDISH_REPLACE(int, unlink, const char* path) {
  return is_on() ? remove_file(AT_FDCWD, path) : TUNDISH_ORIGINAL(unlink)(path);
}
TUNDISH_REPLACE(int, rmdir, const char* path) {
  return is_on() ? remove_folder(AT_FDCWD, path) : TUNDISH_ORIGINAL(rmdir)(path);
}
TUNDISH_REPLACE(int, unlinkat, int folder, const char* path, int flags) {
  if (!is_on()) return TUNDISH_ORIGINAL(unlinkat)(folder, path, flags);
  return (flags & AT_REMOVEDIR) != 0 ? remove_folder(folder, path) : remove_file(folder, path);
}
TUNDISH_REPLACE(int, remove, const char* path) {
  if (!is_on()) return TUNDISH_ORIGINAL(remove)(path);
  const int result = remove_file(AT_FDCWD, path);
  return result != 0 && errno == EISDIR ? remove_folder(AT_FDCWD, path) : result;
}

TUNDISH_REPLACE(int, rename, const char* from, const char* to) {
  return is_on() ? rename_file(AT_FDCWD, from, AT_FDCWD, to, 0)
                 : TUNDISH_ORIGINAL(rename)(from, to);
}
TUNDISH_REPLACE(int, renameat, int old_folder, const char* from, int folder, const char* to) {
  if (!is_on()) return TUNDISH_ORIGINAL(renameat)(old_folder, from, folder, to);
  return rename_file(old_folder, from, folder, to, 0);
}
TUNDISH_REPLACE(int, renameat2, int old_folder, const char* from, int folder, const char* to,
                unsigned flags) {
  if (!is_on()) return TUNDISH_ORIGINAL(renameat2)(old_folder, from, folder, to, flags);
  return rename_file(old_folder, from, folder, to, flags);
}

// --- make ---------------------------------------------------------------------------------------

TUNDISH_REPLACE(int, mkdirat, int folder, const char* path, mode_t mode) {
  Path out;
  const char* chosen = for_new(folder, path, out);
  return chosen != nullptr ? counted(TUNDISH_ORIGINAL(mkdirat)(folder, chosen, plain(mode))) : -1;
}
TUNDISH_REPLACE(int, mkdir, const char* path, mode_t mode) {
  Path out;
  const char* chosen = for_new(AT_FDCWD, path, out);
  return chosen != nullptr ? counted(TUNDISH_ORIGINAL(mkdir)(chosen, plain(mode))) : -1;
}

TUNDISH_REPLACE(int, linkat, int old_folder, const char* from, int folder, const char* to,
                int flags) {
  if (!is_on()) return TUNDISH_ORIGINAL(linkat)(old_folder, from, folder, to, flags);
  return link_file(old_folder, from, folder, to, flags);
}
TUNDISH_REPLACE(int, link, const char* from, const char* to) {
  return is_on() ? link_file(AT_FDCWD, from, AT_FDCWD, to, 0) : TUNDISH_ORIGINAL(link)(from, to);
}

TUNDISH_REPLACE(int, symlinkat, const char* target, int folder, const char* path) {
  Path out;
  const char* chosen = for_new(folder, path, out);
  return chosen != nullptr ? counted(TUNDISH_ORIGINAL(symlinkat)(target, folder, chosen)) : -1;
}
TUNDISH_REPLACE(int, symlink, const char* target, const char* path) {
  return guarded_symlinkat(target, AT_FDCWD, path);
}

TUNDISH_REPLACE(int, mknodat, int folder, const char* path, mode_t mode, dev_t device) {
  Path out;
  const char* chosen = for_new(folder, path, out);
  if (chosen == nullptr) return -1;
  return static_cast<int>(::syscall(SYS_mknodat, folder, chosen, plain(mode), device));
}
TUNDISH_REPLACE(int, mknod, const char* path, mode_t mode, dev_t device) {
  return guarded_mknodat(AT_FDCWD, path, mode, device);
}
TUNDISH_REPLACE(int, mkfifoat, int folder, const char* path, mode_t mode) {
  return guarded_mknodat(folder, path, mode | S_IFIFO, 0);
}
TUNDISH_REPLACE(int, mkfifo, const char* path, mode_t mode) {
  return guarded_mknodat(AT_FDCWD, path, mode | S_IFIFO, 0);
}
// Called by programs for a C library before 2.33.
TUNDISH_REPLACE(int, __xmknod, int, const char* path, mode_t mode, dev_t* device) {
  return guarded_mknodat(AT_FDCWD, path, mode, *device);
}
TUNDISH_REPLACE(int, __xmknodat, int, int folder, const char* path, mode_t mode, dev_t* device) {
  return guarded_mknodat(folder, path, mode, *device);
}

// --- change -------------------------------------------------------------------------------------

TUNDISH_REPLACE(int, truncate, const char* path, off_t size) {
  Path out;
  const char* chosen = for_change(AT_FDCWD, path, Last::follow, out);
  return chosen != nullptr ? TUNDISH_ORIGINAL(truncate)(chosen, size) : -1;
}
TUNDISH_REPLACE(int, truncate64, const char* path, off_t size) {
  return guarded_truncate(path, size);
}

TUNDISH_REPLACE(int, fchmodat, int folder, const char* path, mode_t mode, int flags) {
  Path out;
  const char* chosen = for_change(folder, path, last_of(flags), out);
  return chosen != nullptr ? TUNDISH_ORIGINAL(fchmodat)(folder, chosen, plain(mode), flags) : -1;
}
TUNDISH_REPLACE(int, chmod, const char* path, mode_t mode) {
  Path out;
  const char* chosen = for_change(AT_FDCWD, path, Last::follow, out);
  return chosen != nullptr ? TUNDISH_ORIGINAL(chmod)(chosen, plain(mode)) : -1;
}
TUNDISH_REPLACE(int, lchmod, const char* path, mode_t mode) {
  return guarded_fchmodat(AT_FDCWD, path, mode, AT_SYMLINK_NOFOLLOW);
}
TUNDISH_REPLACE(int, fchmod, int file, mode_t mode) {
  Path out;
  const char* own = for_open_file(file, out);
  return own != nullptr ? guarded_chmod(own, mode) : TUNDISH_ORIGINAL(fchmod)(file, plain(mode));
}

TUNDISH_REPLACE(int, fchown, int file, uid_t user, gid_t group) {
  Path out;
  const char* own = for_open_file(file, out);
  if (own == nullptr) return TUNDISH_ORIGINAL(fchown)(file, user, group);
  return static_cast<int>(::syscall(SYS_fchownat, AT_FDCWD, own, user, group, 0));
}
TUNDISH_REPLACE(int, fchownat, int folder, const char* path, uid_t user, gid_t group, int flags) {
  if (path != nullptr && path[0] == '\0' && (flags & AT_EMPTY_PATH) != 0) {
    return guarded_fchown(folder, user, group);
  }
  Path out;
  const char* chosen = for_change(folder, path, last_of(flags), out);
  if (chosen == nullptr) return -1;
  return TUNDISH_ORIGINAL(fchownat)(folder, chosen, user, group, flags);
}
TUNDISH_REPLACE(int, chown, const char* path, uid_t user, gid_t group) {
  return guarded_fchownat(AT_FDCWD, path, user, group, 0);
}
TUNDISH_REPLACE(int, lchown, const char* path, uid_t user, gid_t group) {
  return guarded_fchownat(AT_FDCWD, path, user, group, AT_SYMLINK_NOFOLLOW);
}

// --- times --------------------------------------------------------------------------------------

TUNDISH_REPLACE(int, futimens, int file, const struct timespec* times) {
  Path out;
  const char* own = for_open_file(file, out);
  if (own == nullptr) return TUNDISH_ORIGINAL(futimens)(file, times);
  return static_cast<int>(::syscall(SYS_utimensat, AT_FDCWD, own, times, 0));
}
TUNDISH_REPLACE(int, utimensat, int folder, const char* path, const struct timespec* times,
                int flags) {
  if (path == nullptr) return guarded_futimens(folder, times);
  Path out;
  const char* chosen = for_change(folder, path, last_of(flags), out);
  return chosen != nullptr ? TUNDISH_ORIGINAL(utimensat)(folder, chosen, times, flags) : -1;
}

namespace {

struct Times {
  struct timespec both[2];
  explicit Times(const struct timeval* from) {
    for (int i = 0; i < 2; ++i) both[i] = {from[i].tv_sec, from[i].tv_usec * 1000};
  }
};

int set_times(int folder, const char* path, const struct timeval* times, int flags) {
  if (times == nullptr) return guarded_utimensat(folder, path, nullptr, flags);
  return guarded_utimensat(folder, path, Times(times).both, flags);
}

}  // namespace

TUNDISH_REPLACE(int, utimes, const char* path, const struct timeval* times) {
  return set_times(AT_FDCWD, path, times, 0);
}
TUNDISH_REPLACE(int, lutimes, const char* path, const struct timeval* times) {
  return set_times(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW);
}
TUNDISH_REPLACE(int, futimesat, int folder, const char* path, const struct timeval* times) {
  return set_times(folder, path, times, 0);
}
TUNDISH_REPLACE(int, futimes, int file, const struct timeval* times) {
  return set_times(file, nullptr, times, 0);
}
TUNDISH_REPLACE(int, utime, const char* path, const struct utimbuf* times) {
  if (times == nullptr) return guarded_utimensat(AT_FDCWD, path, nullptr, 0);
  const struct timespec both[2] = {{times->actime, 0}, {times->modtime, 0}};
  return guarded_utimensat(AT_FDCWD, path, both, 0);
}

// --- extended attributes ------------------------------------------------------------------------

TUNDISH_REPLACE(int, setxattr, const char* path, const char* name, const void* value,
                std::size_t size, int flags) {
  Path out;
  const char* chosen = for_change(AT_FDCWD, path, Last::follow, out);
  return chosen != nullptr ? TUNDISH_ORIGINAL(setxattr)(chosen, name, value, size, flags) : -1;
}
TUNDISH_REPLACE(int, lsetxattr, const char* path, const char* name, const void* value,
                std::size_t size, int flags) {
  Path out;
  const char* chosen = for_change(AT_FDCWD, path, Last::keep, out);
  return chosen != nullptr ? TUNDISH_ORIGINAL(lsetxattr)(chosen, name, value, size, flags) : -1;
}
TUNDISH_REPLACE(int, fsetxattr, int file, const char* name, const void* value, std::size_t size,
                int flags) {
  Path out;
  const char* own = for_open_file(file, out);
  if (own == nullptr) return TUNDISH_ORIGINAL(fsetxattr)(file, name, value, size, flags);
  return static_cast<int>(::syscall(SYS_setxattr, own, name, value, size, flags));
}
TUNDISH_REPLACE(int, removexattr, const char* path, const char* name) {
  Path out;
  const char* chosen = for_change(AT_FDCWD, path, Last::follow, out);
  return chosen != nullptr ? TUNDISH_ORIGINAL(removexattr)(chosen, name) : -1;
}
TUNDISH_REPLACE(int, lremovexattr, const char* path, const char* name) {
  Path out;
  const char* chosen = for_change(AT_FDCWD, path, Last::keep, out);
  return chosen != nullptr ? TUNDISH_ORIGINAL(lremovexattr)(chosen, name) : -1;
}
TUNDISH_REPLACE(int, fremovexattr, int file, const char* name) {
  Path out;
  const char* own = for_open_file(file, out);
  if (own == nullptr) return TUNDISH_ORIGINAL(fremovexattr)(file, name);
  return static_cast<int>(::syscall(SYS_removexattr, own, name));
}
