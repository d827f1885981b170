// The functions that open or make files and return a descriptor, a FILE or a DIR.
#include <dirent.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tools/write_guard/generation.h"
#include "tools/write_guard/redirect.h"
#include "tools/write_guard/replace.h"
#include "tools/write_guard/system_calls.h"

using namespace tundish::guard;

namespace {

bool takes_mode(int flags) { return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE; }

// Without the sticky bit, which marks the stand-ins of a listing.
mode_t plain(mode_t mode) { return mode & ~static_cast<mode_t>(S_ISVTX); }

int flags_of(const char* mode) {
  const bool both = std::strchr(mode, '+') != nullptr;
  const bool exclusive = std::strchr(mode, 'x') != nullptr;
  if (mode[0] == 'r') return both ? O_RDWR : O_RDONLY;
  const int flags = (both ? O_RDWR : O_WRONLY) | O_CREAT | (exclusive ? O_EXCL : 0);
  return flags | (mode[0] == 'a' ? O_APPEND : O_TRUNC);
}

// For the mkstemp family: `pattern` ends with XXXXXX and `suffix` characters, which make(pattern)
// replaces.
template <class Result, class Make>
Result make_temporary(char* pattern, int suffix, Result failed, const Make& make) {
  Path out;
  const char* chosen = for_new(AT_FDCWD, pattern, out);
  if (chosen == nullptr) return failed;
  const std::size_t size = std::strlen(pattern);
  const std::size_t end = 6 + static_cast<std::size_t>(suffix);
  if (chosen == pattern || suffix < 0 || size < end) return make(pattern);
  const Result result = make(out.text);
  const int error = errno;
  count_change();
  errno = error;
  if (result != failed) {
    std::memcpy(pattern + size - end, out.text + std::strlen(out.text) - end, end);
  }
  return result;
}

}  // namespace

#define TUNDISH_MODE(flags)                               \
  mode_t mode = 0;                                        \
  if (takes_mode(flags)) {                                \
    va_list more;                                         \
    va_start(more, flags);                                \
    mode = plain(static_cast<mode_t>(va_arg(more, int))); \
    va_end(more);                                         \
  }

TUNDISH_REPLACE(int, openat, int folder, const char* path, int flags, ...) {
  TUNDISH_MODE(flags)
  Path out;
  const char* chosen = for_opening(folder, path, flags, out);
  return chosen != nullptr ? TUNDISH_ORIGINAL(openat)(folder, chosen, flags, mode) : -1;
}

TUNDISH_REPLACE(int, openat64, int folder, const char* path, int flags, ...) {
  TUNDISH_MODE(flags)
  return guarded_openat(folder, path, flags, mode);
}

TUNDISH_REPLACE(int, open, const char* path, int flags, ...) {
  TUNDISH_MODE(flags)
  Path out;
  const char* chosen = for_opening(AT_FDCWD, path, flags, out);
  return chosen != nullptr ? TUNDISH_ORIGINAL(open)(chosen, flags, mode) : -1;
}

TUNDISH_REPLACE(int, open64, const char* path, int flags, ...) {
  TUNDISH_MODE(flags)
  return guarded_open(path, flags, mode);
}

// Called by programs compiled with _FORTIFY_SOURCE.
TUNDISH_REPLACE(int, __open_2, const char* path, int flags) { return guarded_open(path, flags); }
TUNDISH_REPLACE(int, __open64_2, const char* path, int flags) { return guarded_open(path, flags); }
TUNDISH_REPLACE(int, __openat_2, int folder, const char* path, int flags) {
  return guarded_openat(folder, path, flags);
}
TUNDISH_REPLACE(int, __openat64_2, int folder, const char* path, int flags) {
  return guarded_openat(folder, path, flags);
}

TUNDISH_REPLACE(int, creat, const char* path, mode_t mode) {
  return guarded_open(path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}
TUNDISH_REPLACE(int, creat64, const char* path, mode_t mode) { return guarded_creat(path, mode); }

TUNDISH_REPLACE(FILE*, fopen, const char* path, const char* mode) {
  Path out;
  const char* chosen = for_opening(AT_FDCWD, path, flags_of(mode), out);
  return chosen != nullptr ? TUNDISH_ORIGINAL(fopen)(chosen, mode) : nullptr;
}
TUNDISH_REPLACE(FILE*, fopen64, const char* path, const char* mode) {
  return guarded_fopen(path, mode);
}

// Without a path, freopen only changes the mode of the open file.
TUNDISH_REPLACE(FILE*, freopen, const char* path, const char* mode, FILE* file) {
  Path out;
  if (path == nullptr) return TUNDISH_ORIGINAL(freopen)(path, mode, file);
  const char* chosen = for_opening(AT_FDCWD, path, flags_of(mode), out);
  if (chosen != nullptr) return TUNDISH_ORIGINAL(freopen)(chosen, mode, file);
  const int error = errno;
  std::fclose(file);
  errno = error;
  return nullptr;
}
TUNDISH_REPLACE(FILE*, freopen64, const char* path, const char* mode, FILE* file) {
  return guarded_freopen(path, mode, file);
}

TUNDISH_REPLACE(DIR*, opendir, const char* path) {
  Path out;
  return TUNDISH_ORIGINAL(opendir)(for_reading(AT_FDCWD, path, Last::follow, out));
}

TUNDISH_REPLACE(int, mkostemps, char* pattern, int suffix, int flags) {
  return make_temporary(pattern, suffix, -1, [&](char* used) {
    return TUNDISH_ORIGINAL(mkostemps)(used, suffix, flags);
  });
}
TUNDISH_REPLACE(int, mkostemps64, char* pattern, int suffix, int flags) {
  return guarded_mkostemps(pattern, suffix, flags);
}
TUNDISH_REPLACE(int, mkstemps, char* pattern, int suffix) {
  return guarded_mkostemps(pattern, suffix, 0);
}
TUNDISH_REPLACE(int, mkstemps64, char* pattern, int suffix) {
  return guarded_mkostemps(pattern, suffix, 0);
}
TUNDISH_REPLACE(int, mkostemp, char* pattern, int flags) {
  return guarded_mkostemps(pattern, 0, flags);
}
TUNDISH_REPLACE(int, mkostemp64, char* pattern, int flags) {
  return guarded_mkostemps(pattern, 0, flags);
}
TUNDISH_REPLACE(int, mkstemp, char* pattern) { return guarded_mkostemps(pattern, 0, 0); }
TUNDISH_REPLACE(int, mkstemp64, char* pattern) { return guarded_mkostemps(pattern, 0, 0); }

TUNDISH_REPLACE(char*, mkdtemp, char* pattern) {
  const auto make = [](char* used) -> char* { return TUNDISH_ORIGINAL(mkdtemp)(used); };
  return make_temporary<char*>(pattern, 0, nullptr, make) != nullptr ? pattern : nullptr;
}
