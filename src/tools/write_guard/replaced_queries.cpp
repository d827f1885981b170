// The functions that only read names and attributes, and those that start at the current folder.
#include <sys/statfs.h>
#include <sys/statvfs.h>

#include <cstdlib>
#include <cstring>

#include "tools/write_guard/redirect.h"
#include "tools/write_guard/replace.h"
#include "tools/write_guard/system_calls.h"

using namespace tundish::guard;

namespace {

Last last_of(int flags) { return (flags & AT_SYMLINK_NOFOLLOW) != 0 ? Last::keep : Last::follow; }

const char* read_path(const char* path, Path& out, Last last = Last::follow) {
  return for_reading(AT_FDCWD, path, last, out);
}

int status(int folder, const char* path, struct stat* about, int flags) {
  Path out;
  const char* chosen = for_reading(folder, path, last_of(flags), out);
  return static_cast<int>(::syscall(SYS_newfstatat, folder, chosen, about, flags));
}

}  // namespace

// --- status: struct stat and struct stat64 are equal on 64-bit systems -------------------------

TUNDISH_REPLACE(int, stat, const char* path, struct stat* about) {
  return status(AT_FDCWD, path, about, 0);
}
TUNDISH_REPLACE(int, stat64, const char* path, struct stat* about) {
  return status(AT_FDCWD, path, about, 0);
}
TUNDISH_REPLACE(int, lstat, const char* path, struct stat* about) {
  return status(AT_FDCWD, path, about, AT_SYMLINK_NOFOLLOW);
}
TUNDISH_REPLACE(int, lstat64, const char* path, struct stat* about) {
  return status(AT_FDCWD, path, about, AT_SYMLINK_NOFOLLOW);
}
TUNDISH_REPLACE(int, fstatat, int folder, const char* path, struct stat* about, int flags) {
  return status(folder, path, about, flags);
}
TUNDISH_REPLACE(int, fstatat64, int folder, const char* path, struct stat* about, int flags) {
  return status(folder, path, about, flags);
}
// Called by programs for a C library before 2.33.
TUNDISH_REPLACE(int, __xstat, int, const char* path, struct stat* about) {
  return status(AT_FDCWD, path, about, 0);
}
TUNDISH_REPLACE(int, __xstat64, int, const char* path, struct stat* about) {
  return status(AT_FDCWD, path, about, 0);
}
TUNDISH_REPLACE(int, __lxstat, int, const char* path, struct stat* about) {
  return status(AT_FDCWD, path, about, AT_SYMLINK_NOFOLLOW);
}
TUNDISH_REPLACE(int, __lxstat64, int, const char* path, struct stat* about) {
  return status(AT_FDCWD, path, about, AT_SYMLINK_NOFOLLOW);
}
TUNDISH_REPLACE(int, __fxstatat, int, int folder, const char* path, struct stat* about, int flags) {
  return status(folder, path, about, flags);
}
TUNDISH_REPLACE(int, __fxstatat64, int, int folder, const char* path, struct stat* about,
                int flags) {
  return status(folder, path, about, flags);
}
TUNDISH_REPLACE(int, statx, int folder, const char* path, int flags, unsigned mask,
                struct statx* about) {
  Path out;
  const char* chosen = for_reading(folder, path, last_of(flags), out);
  return TUNDISH_ORIGINAL(statx)(folder, chosen, flags, mask, about);
}
TUNDISH_REPLACE(int, statvfs, const char* path, struct statvfs* about) {
  Path out;
  return TUNDISH_ORIGINAL(statvfs)(read_path(path, out), about);
}
TUNDISH_REPLACE(int, statvfs64, const char* path, struct statvfs* about) {
  return guarded_statvfs(path, about);
}
TUNDISH_REPLACE(int, statfs, const char* path, struct statfs* about) {
  Path out;
  return TUNDISH_ORIGINAL(statfs)(read_path(path, out), about);
}
TUNDISH_REPLACE(int, statfs64, const char* path, struct statfs* about) {
  return guarded_statfs(path, about);
}

// --- access
// ---------------------------------------------------------------------------------------

TUNDISH_REPLACE(int, access, const char* path, int mode) {
  Path out;
  return TUNDISH_ORIGINAL(access)(read_path(path, out), mode);
}
TUNDISH_REPLACE(int, faccessat, int folder, const char* path, int mode, int flags) {
  Path out;
  const char* chosen = for_reading(folder, path, last_of(flags), out);
  return TUNDISH_ORIGINAL(faccessat)(folder, chosen, mode, flags);
}
TUNDISH_REPLACE(int, euidaccess, const char* path, int mode) {
  Path out;
  return TUNDISH_ORIGINAL(euidaccess)(read_path(path, out), mode);
}
TUNDISH_REPLACE(int, eaccess, const char* path, int mode) { return guarded_euidaccess(path, mode); }

// --- extended attributes
// --------------------------------------------------------------------------

TUNDISH_REPLACE(ssize_t, getxattr, const char* path, const char* name, void* value,
                std::size_t size) {
  Path out;
  return TUNDISH_ORIGINAL(getxattr)(read_path(path, out), name, value, size);
}
TUNDISH_REPLACE(ssize_t, lgetxattr, const char* path, const char* name, void* value,
                std::size_t size) {
  Path out;
  return TUNDISH_ORIGINAL(lgetxattr)(read_path(path, out, Last::keep), name, value, size);
}
TUNDISH_REPLACE(ssize_t, listxattr, const char* path, char* list, std::size_t size) {
  Path out;
  return TUNDISH_ORIGINAL(listxattr)(read_path(path, out), list, size);
}
TUNDISH_REPLACE(ssize_t, llistxattr, const char* path, char* list, std::size_t size) {
  Path out;
  return TUNDISH_ORIGINAL(llistxattr)(read_path(path, out, Last::keep), list, size);
}

// --- links, and paths as results
// ------------------------------------------------------------------

// A link of /proc may name a file of the trial.
TUNDISH_REPLACE(ssize_t, readlinkat, int folder, const char* path, char* text, std::size_t size) {
  Path out;
  const char* chosen = for_reading(folder, path, Last::keep, out);
  ssize_t count = TUNDISH_ORIGINAL(readlinkat)(folder, chosen, text, size);
  if (count <= 0 || !settings().on || text[0] != '/') return count;
  char whole[PATH_MAX];
  const ssize_t length = TUNDISH_ORIGINAL(readlinkat)(folder, chosen, whole, sizeof whole - 1);
  if (length <= 0) return count;
  whole[length] = '\0';
  if (!is_below(whole, settings().files)) return count;
  show_as_seen(whole);
  const std::size_t seen = std::strlen(whole);
  count = static_cast<ssize_t>(seen < size ? seen : size);
  std::memcpy(text, whole, static_cast<std::size_t>(count));
  return count;
}
TUNDISH_REPLACE(ssize_t, readlink, const char* path, char* text, std::size_t size) {
  return guarded_readlinkat(AT_FDCWD, path, text, size);
}
TUNDISH_REPLACE(ssize_t, __readlink_chk, const char* path, char* text, std::size_t size,
                std::size_t) {
  return guarded_readlinkat(AT_FDCWD, path, text, size);
}
TUNDISH_REPLACE(ssize_t, __readlinkat_chk, int folder, const char* path, char* text,
                std::size_t size, std::size_t) {
  return guarded_readlinkat(folder, path, text, size);
}

TUNDISH_REPLACE(char*, realpath, const char* path, char* resolved) {
  Place place;
  const bool guarded = settings().on && path != nullptr && path[0] != '\0';
  if (!guarded) return TUNDISH_ORIGINAL(realpath)(path, resolved);
  if (!find(AT_FDCWD, path, Last::follow, place)) return nullptr;
  if (place.free) return TUNDISH_ORIGINAL(realpath)(place.path, resolved);
  if (!place.is_visible()) {
    errno = ENOENT;
    return nullptr;
  }
  return resolved != nullptr ? std::strcpy(resolved, place.path) : ::strdup(place.path);
}
TUNDISH_REPLACE(char*, __realpath_chk, const char* path, char* resolved, std::size_t) {
  return guarded_realpath(path, resolved);
}
TUNDISH_REPLACE(char*, canonicalize_file_name, const char* path) {
  return guarded_realpath(path, nullptr);
}

TUNDISH_REPLACE(int, chdir, const char* path) {
  Path out;
  return TUNDISH_ORIGINAL(chdir)(read_path(path, out));
}

TUNDISH_REPLACE(char*, getcwd, char* text, std::size_t size) {
  if (!settings().on) return TUNDISH_ORIGINAL(getcwd)(text, size);
  char path[PATH_MAX];
  if (::syscall(SYS_getcwd, path, sizeof path) < 0) return nullptr;
  show_as_seen(path);
  const std::size_t needed = std::strlen(path) + 1;
  if (text == nullptr && (size == 0 || size >= needed)) return ::strdup(path);
  if (size < needed) {
    errno = text != nullptr && size == 0 ? EINVAL : ERANGE;
    return nullptr;
  }
  return std::strcpy(text, path);
}
TUNDISH_REPLACE(char*, __getcwd_chk, char* text, std::size_t size, std::size_t) {
  return guarded_getcwd(text, size);
}
TUNDISH_REPLACE(char*, get_current_dir_name, void) {
  return settings().on ? guarded_getcwd(nullptr, 0) : TUNDISH_ORIGINAL(get_current_dir_name)();
}
