#include "tools/write_guard/redirect.h"

#include <cstring>

#include "tools/write_guard/copies.h"
#include "tools/write_guard/generation.h"
#include "tools/write_guard/system_calls.h"

namespace tundish::guard {
namespace {

bool is_unguarded(const char* path) { return path == nullptr || path[0] == '\0' || !settings().on; }

// The trial's path, with the slash that the script required.
const char* use_own(const Place& place, Path& out) {
  if (!own_path(place, out.text)) return nullptr;
  const std::size_t size = std::strlen(out.text);
  if (place.slash && size + 1 < sizeof out.text) std::strcpy(out.text + size, "/");
  return out.text;
}

// The user's path. `path` is what the script gave, which is kept if it leads there.
const char* use_user(const Place& place, const char* path, Path& out) {
  if (!place.mapped) return path;
  std::strcpy(out.text, place.path);
  const std::size_t size = std::strlen(out.text);
  if (place.slash && size > 1 && size + 1 < sizeof out.text) std::strcpy(out.text + size, "/");
  return out.text;
}

bool is_special(mode_t mode) {
  return mode != 0 && !S_ISREG(mode) && !S_ISDIR(mode) && !S_ISLNK(mode);
}

// Before something new is made: its folder must be one in which the user may write.
bool prepare_new(const Place& place) {
  char above[PATH_MAX];
  std::strcpy(above, place.path);
  char* last = std::strrchr(above, '/');
  *(last == above ? last + 1 : last) = '\0';
  if (!place.hidden && is_there(above) && !may_write(above)) return false;
  return make_parents(place);
}

// Whether both have a folder here, which is completed; false: the user's folder is used.
bool use_own_folder(const Place& place) {
  if (place.user == 0) return true;
  bool done = false;
  return complete_listing(place, done) && done;
}

const char* choose_for_reading(const Place& place, const char* path, Path& out) {
  const char* chosen = nullptr;
  switch (place.own) {
    case Own::file:
    case Own::link:
      chosen = use_own(place, out);
      break;
    case Own::folder:
      chosen = use_own_folder(place) ? use_own(place, out) : use_user(place, path, out);
      break;
    case Own::stand_in:
    case Own::nothing:
      chosen = place.hidden ? use_own(place, out) : use_user(place, path, out);
  }
  return chosen != nullptr ? chosen : path;
}

// A path for which the original function fails with this error.
const char* failing_path(int error, const char* path, Path& out) {
  bool done = false;
  if (error == ENOENT) done = join(out.text, settings().folder, "none");
  if (error == ENOTDIR) done = join(out.text, "/dev/null", "none");
  if (error == ELOOP && join(out.text, settings().folder, "loop")) {
    ::syscall(SYS_symlinkat, "loop", AT_FDCWD, out.text);
    done = join(out.text, out.text, "none");
  }
  return done ? out.text : path;
}

bool prepare_writing(const Place& place, int flags) {
  const bool changes = (flags & (O_TRUNC | O_ACCMODE)) != 0;
  if (changes && !may_write(place.path)) return false;
  const bool is_replaced = (flags & O_TRUNC) != 0;
  return copy_user(place, is_replaced ? Keep::nothing : Keep::contents);
}

}  // namespace

const char* for_reading(int folder, const char* path, Last last, Path& out) {
  if (is_unguarded(path)) return path;
  const int error = errno;
  const char* chosen = path;
  Place place;
  if (generation() != 0) {
    if (find(folder, path, last, place, Purpose::read)) {
      chosen = place.free ? use_user(place, path, out) : choose_for_reading(place, path, out);
    } else if (place.mapped) {
      chosen = failing_path(errno, path, out);
    }
  }
  errno = error;
  return chosen;
}

const char* for_opening(int folder, const char* path, int flags, Path& out) {
  const bool writes = (flags & O_PATH) == 0 && (flags & (O_ACCMODE | O_CREAT | O_TRUNC)) != 0;
  const bool makes_exclusively = (flags & O_CREAT) != 0 && (flags & O_EXCL) != 0;
  const Last last = (flags & O_NOFOLLOW) != 0 || makes_exclusively ? Last::keep : Last::follow;
  if (!writes) return for_reading(folder, path, last, out);
  if (is_unguarded(path)) return path;
  if ((flags & O_CREAT) != 0 && (flags & O_DIRECTORY) != 0) {
    errno = EINVAL;  // as Linux 6.4 does; before, it made a file
    return nullptr;
  }
  const int error = errno;
  Place place;
  if (!find(folder, path, last, place)) return nullptr;
  if (place.free || is_special(place.user)) return use_user(place, path, out);
  if (!place.is_visible()) {
    if ((flags & O_CREAT) == 0 && !place.hidden) return use_user(place, path, out);
    if ((flags & O_CREAT) != 0 && !prepare_new(place)) return nullptr;
  } else if (makes_exclusively) {
    errno = EEXIST;
    return nullptr;
  } else if (place.own == Own::nothing || place.own == Own::stand_in) {
    const bool in_folder = (flags & O_TMPFILE) == O_TMPFILE;
    const bool wrong_kind = S_ISDIR(place.user) ? !in_folder : (flags & O_DIRECTORY) != 0;
    if (S_ISLNK(place.user) || wrong_kind) {
      return use_user(place, path, out);  // refused by the kernel
    }
    if ((flags & (O_ACCMODE | O_TRUNC)) == 0) return use_user(place, path, out);
    if (!prepare_writing(place, flags)) return nullptr;
  }
  errno = error;
  return use_own(place, out);
}

const char* for_change(int folder, const char* path, Last last, Path& out) {
  if (is_unguarded(path)) return path;
  const int error = errno;
  Place place;
  if (!find(folder, path, last, place)) return nullptr;
  if (place.free || is_special(place.user)) return use_user(place, path, out);
  if (place.own == Own::nothing || place.own == Own::stand_in) {
    if (!place.is_visible()) return choose_for_reading(place, path, out);  // ENOENT
    if (!copy_user(place, Keep::contents)) return nullptr;
  }
  errno = error;
  return use_own(place, out);
}

const char* for_new(int folder, const char* path, Path& out) {
  if (is_unguarded(path)) return path;
  const int error = errno;
  Place place;
  if (!find(folder, path, Last::keep, place)) {
    // Not a folder, but there: mkdir("file/").
    if (errno == ENOTDIR && place.reached) errno = EEXIST;
    return nullptr;
  }
  if (place.free) return use_user(place, path, out);
  if (place.is_visible() || place.through_link) {
    errno = EEXIST;
    return nullptr;
  }
  if (!prepare_new(place)) return nullptr;
  errno = error;
  return use_own(place, out);
}

const char* for_open_file(int file, Path& out) {
  char path[PATH_MAX];
  if (!settings().on || !path_of(file, path) || is_below(path, settings().folder)) return nullptr;
  const int error = errno;
  Place place;
  struct stat there;
  struct stat opened;
  const bool is_users = find(AT_FDCWD, path, Last::keep, place) && !place.free &&
                        read_status(path, there) && !is_special(there.st_mode) &&
                        ::syscall(SYS_fstat, file, &opened) == 0 && there.st_ino == opened.st_ino &&
                        there.st_dev == opened.st_dev;
  const char* chosen = is_users ? for_change(AT_FDCWD, path, Last::keep, out) : nullptr;
  errno = error;
  return chosen;
}

void show_as_seen(char* path) {
  if (!settings().on || !is_below(path, settings().files)) return;
  const char* seen = path + std::strlen(settings().files);
  std::memmove(path, seen, std::strlen(seen) + 1);
  if (path[0] == '\0') std::strcpy(path, "/");
}

}  // namespace tundish::guard
