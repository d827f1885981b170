#include "tools/write_guard/redirect.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace tundish::guard {
namespace {

constexpr off_t kMaxCopied = off_t{256} << 20;
constexpr int kMaxAllowed = 32;

struct Settings {
  char folder[PATH_MAX] = "";
  char allowed[kMaxAllowed][PATH_MAX] = {};
  int allowed_count = 0;
};

// Paths of this process's trial, read once from the environment.
const Settings& settings() {
  static const Settings* const read = [] {
    static Settings made;
    const char* folder = std::getenv("TUNDISH_GUARD_FOLDER");
    if (folder != nullptr && std::strlen(folder) < sizeof made.folder) std::strcpy(made.folder, folder);
    const char* rest = std::getenv("TUNDISH_GUARD_ALLOW");
    while (rest != nullptr && *rest != '\0' && made.allowed_count < kMaxAllowed) {
      const char* end = std::strchr(rest, ':');
      const std::size_t size = end != nullptr ? static_cast<std::size_t>(end - rest) : std::strlen(rest);
      if (size > 0 && size < PATH_MAX) std::memcpy(made.allowed[made.allowed_count++], rest, size);
      rest = end != nullptr ? end + 1 : nullptr;
    }
    return &made;
  }();
  return *read;
}

// System calls, because the functions of the C library are replaced.
bool is_there(const char* path) { return ::syscall(SYS_faccessat, AT_FDCWD, path, F_OK) == 0; }

bool is_below(const char* path, const char* folder) {
  const std::size_t size = std::strlen(folder);
  return size > 0 && std::strncmp(path, folder, size) == 0 && (path[size] == '/' || path[size] == '\0');
}

bool join(char* out, const char* first, const char* second) {
  const std::size_t one = std::strlen(first);
  const std::size_t two = std::strlen(second);
  if (one + two + 2 > PATH_MAX) {
    errno = ENAMETOOLONG;
    return false;
  }
  std::memmove(out, first, one);
  out[one] = '/';
  std::memcpy(out + one + 1, second, two + 1);
  return true;
}

// Removes empty and "." parts, and resolves ".." by name.
void normalize(char* path) {
  char* out = path;
  for (const char* in = path; *in != '\0';) {
    while (*in == '/') ++in;
    const char* end = std::strchr(in, '/');
    const std::size_t size = end != nullptr ? static_cast<std::size_t>(end - in) : std::strlen(in);
    if (size == 2 && in[0] == '.' && in[1] == '.') {
      while (out > path && *--out != '/') {
      }
    } else if (size > 0 && !(size == 1 && in[0] == '.')) {
      *out++ = '/';
      std::memmove(out, in, size);
      out += size;
    }
    in += size;
  }
  if (out == path) *out++ = '/';
  *out = '\0';
}

// The absolute path, with the links of its folder resolved. A last part that is a link stays.
bool absolute(int folder, const char* path, char* out) {
  char whole[PATH_MAX];
  if (path[0] == '/') {
    if (std::strlen(path) >= PATH_MAX) return false;
    std::strcpy(whole, path);
  } else {
    char base[PATH_MAX];
    if (folder == AT_FDCWD) {
      if (::syscall(SYS_getcwd, base, sizeof base) < 0) return false;
    } else {
      char link[64] = "/proc/self/fd/";
      char digits[16];
      int count = 0;
      for (int rest = folder; rest > 0 || count == 0; rest /= 10) digits[count++] = static_cast<char>('0' + rest % 10);
      std::size_t at = std::strlen(link);
      while (count > 0) link[at++] = digits[--count];
      link[at] = '\0';
      const long size = ::syscall(SYS_readlink, link, base, sizeof base - 1);
      if (size < 0) return false;
      base[size] = '\0';
    }
    if (!join(whole, base, path)) return false;
  }
  normalize(whole);
  // A folder of the trial is below its own folder already.
  char* last = std::strrchr(whole, '/');
  if (last == whole || is_below(whole, settings().folder)) {
    std::strcpy(out, whole);
    return true;
  }
  *last = '\0';
  char resolved[PATH_MAX];
  const bool known = ::realpath(whole, resolved) != nullptr;
  return join(out, known ? (std::strcmp(resolved, "/") == 0 ? "" : resolved) : whole, last + 1);
}

bool is_free(const char* path) {
  const Settings& all = settings();
  if (all.folder[0] == '\0' || is_below(path, all.folder)) return true;
  for (const char* folder : {"/dev", "/proc", "/sys"}) {
    if (is_below(path, folder)) return true;
  }
  for (int i = 0; i < all.allowed_count; ++i) {
    if (is_below(path, all.allowed[i])) return true;
  }
  return false;
}

// FOLDER/files/PATH, or FOLDER/removed/PATH.
bool in_trial(const char* kind, const char* path, char* out) {
  char base[PATH_MAX];
  return join(base, settings().folder, kind) && join(out, base, path + 1);
}

// Makes the folders above `path`, which is below the trial's folder.
bool make_parents(const char* path) {
  char part[PATH_MAX];
  std::strcpy(part, path);
  for (char* at = part + std::strlen(settings().folder); (at = std::strchr(at + 1, '/')) != nullptr;) {
    *at = '\0';
    if (::syscall(SYS_mkdirat, AT_FDCWD, part, 0700) != 0 && errno != EEXIST) return false;
    *at = '/';
  }
  return ::syscall(SYS_mkdirat, AT_FDCWD, settings().folder, 0700) == 0 || errno == EEXIST;
}

int open_file(const char* path, int flags, int mode = 0600) {
  return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, mode));
}

bool copy_contents(const char* from, const char* to) {
  struct stat about;
  if (::syscall(SYS_newfstatat, AT_FDCWD, from, &about, 0) != 0) return errno == ENOENT;
  if (!S_ISREG(about.st_mode)) return true;
  if (about.st_size > kMaxCopied) {
    errno = EROFS;
    return false;
  }
  const int source = open_file(from, O_RDONLY);
  if (source < 0) return false;
  const int target = open_file(to, O_WRONLY | O_CREAT | O_TRUNC, static_cast<int>(about.st_mode & 0777) | 0600);
  bool done = target >= 0;
  char buffer[1 << 16];
  while (done) {
    const long size = ::syscall(SYS_read, source, buffer, sizeof buffer);
    if (size <= 0) {
      done = size == 0;
      break;
    }
    done = ::syscall(SYS_write, target, buffer, size) == size;
  }
  const int error = errno;
  ::syscall(SYS_close, source);
  if (target >= 0) ::syscall(SYS_close, target);
  errno = error;
  return done;
}

// The folder of a new file must exist, for the script as for the guard.
bool has_parent(const char* path) {
  char parent[PATH_MAX];
  std::strcpy(parent, path);
  char* last = std::strrchr(parent, '/');
  if (last == parent) return true;
  *last = '\0';
  Path seen;
  if (is_there(for_reading(AT_FDCWD, parent, seen))) return true;
  errno = ENOENT;
  return false;
}

bool is_special(const char* path) {
  struct stat about;
  return ::syscall(SYS_newfstatat, AT_FDCWD, path, &about, 0) == 0 && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode);
}

}  // namespace

const char* for_reading(int folder, const char* path, Path& out) {
  const int error = errno;
  const auto unchanged = [&] {
    errno = error;
    return path;
  };
  if (path == nullptr || path[0] == '\0' || settings().folder[0] == '\0') return path;
  if (!is_there(settings().folder)) return unchanged();  // nothing is written yet
  char whole[PATH_MAX];
  if (!absolute(folder, path, whole) || is_free(whole)) return unchanged();
  char own[PATH_MAX];
  if (!in_trial("files", whole, own)) return unchanged();
  if (is_there(own)) {
    std::strcpy(out.text, own);
    errno = error;
    return out.text;
  }
  if (!in_trial("removed", whole, own) || !is_there(own)) return unchanged();
  std::strcpy(out.text, own);
  std::strcat(out.text, "/none");  // the marker is a file, so this path does not exist
  errno = error;
  struct stat about;
  if (::syscall(SYS_newfstatat, AT_FDCWD, own, &about, 0) == 0 && !S_ISREG(about.st_mode)) return path;
  std::strcpy(out.text, settings().folder);
  std::strcat(out.text, "/none");
  return out.text;
}

const char* for_writing(int folder, const char* path, Keep keep, Path& out) {
  if (path == nullptr || path[0] == '\0') return path;
  char whole[PATH_MAX];
  if (!absolute(folder, path, whole) || is_free(whole) || is_special(whole)) return path;
  if (!in_trial("files", whole, out.text)) return nullptr;
  if (is_there(out.text)) return out.text;
  if (!has_parent(whole)) return nullptr;
  if (!make_parents(out.text)) return nullptr;
  char removed[PATH_MAX];
  const bool was_removed = in_trial("removed", whole, removed) && is_there(removed);
  if (keep == Keep::contents && !was_removed && !copy_contents(whole, out.text)) return nullptr;
  return out.text;
}

bool mark_removed(int folder, const char* path) {
  char whole[PATH_MAX];
  char own[PATH_MAX];
  if (!absolute(folder, path, whole) || !in_trial("removed", whole, own)) return false;
  if (!is_there(whole)) return true;  // only the trial's file existed
  if (!make_parents(own)) return errno == ENOTDIR;  // the folder above is removed as well
  const int marker = open_file(own, O_WRONLY | O_CREAT);
  if (marker >= 0) ::syscall(SYS_close, marker);
  return marker >= 0 || errno == EISDIR;
}

bool is_allowed(int folder, const char* path) {
  char whole[PATH_MAX];
  return path == nullptr || !absolute(folder, path, whole) || is_free(whole);
}

bool exists(int folder, const char* path) {
  Path seen;
  struct stat about;
  const char* found = for_reading(folder, path, seen);
  return ::syscall(SYS_newfstatat, folder, found, &about, AT_SYMLINK_NOFOLLOW) == 0;
}

void* original(const char* name) { return ::dlsym(RTLD_NEXT, name); }

}  // namespace tundish::guard
