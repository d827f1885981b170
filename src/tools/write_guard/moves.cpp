// Removes and moves files: what the user has is only marked.
#include <cstdio>
#include <cstring>

#include "tools/write_guard/copies.h"
#include "tools/write_guard/generation.h"
#include "tools/write_guard/redirect.h"
#include "tools/write_guard/system_calls.h"

namespace tundish::guard {
namespace {

int result(bool done) { return done ? 0 : -1; }

int refuse(int error) {
  errno = error;
  return -1;
}

bool is_folder(const Place& place) {
  if (place.own == Own::nothing || place.own == Own::stand_in) return S_ISDIR(place.user);
  return place.own == Own::folder;
}

// The folder above must be one in which the user may write, if it is the user's.
bool may_remove(const Place& place) {
  if (place.user == 0) return true;
  char above[PATH_MAX];
  std::strcpy(above, place.path);
  char* last = std::strrchr(above, '/');
  *(last == above ? last + 1 : last) = '\0';
  return may_write(above);
}

// Gives the trial the only version: a copy of the user's file, with the user's marked as removed
// once the copy is moved.
bool own_it(const Place& place) {
  if (is_folder(place) && place.user != 0) return copy_user_tree(place);
  if (place.own == Own::nothing || place.own == Own::stand_in) {
    return copy_user(place, Keep::contents);
  }
  return true;
}

// Makes the trial's folder at the place of a folder of the user, with what a listing shows.
bool own_folder(Place& place) {
  if (place.user == 0) return true;
  if (!copy_user(place, Keep::nothing)) return false;
  place.own = Own::folder;
  bool done = false;
  if (!complete_listing(place, done)) return false;
  return done || fail(ENOTEMPTY);
}

bool move_or_copy(const char* from, const char* to) {
  const bool moved = move_name(from, to);
  count_change();
  if (moved) return true;
  return errno == EXDEV && copy_file(from, to) && remove_name(from);
}

// What rename() refuses before it does anything. 0: nothing.
int reason_against(const Place& old_place, const Place& place, unsigned flags) {
  if (!old_place.is_visible()) return ENOENT;
  if ((flags & RENAME_NOREPLACE) != 0 && place.is_visible()) return EEXIST;
  if (!is_folder(old_place) && place.slash) return ENOTDIR;
  if (is_below(place.path, old_place.path)) return is_folder(old_place) ? EINVAL : ENOTDIR;
  if (is_below(old_place.path, place.path)) return ENOTEMPTY;
  if (is_folder(old_place)) {
    if (place.is_visible() && !is_folder(place)) return ENOTDIR;
    return 0;
  }
  if (place.is_visible() && is_folder(place)) return EISDIR;
  return 0;
}

// Completes a place of an allowed folder, where the kernel decides.
void look_at_free(Place& place) {
  struct stat about;
  place.own = Own::nothing;
  place.user = place.free && read_status(place.path, about) ? about.st_mode : place.user;
}

const char* path_for_move(const Place& place, Path& out) {
  if (place.free) return place.path;
  return own_path(place, out.text) ? out.text : nullptr;
}

bool prepare_target(Place& place) {
  if (place.free) return true;
  if (!may_remove(place)) return false;
  if (place.is_visible() && is_folder(place)) return own_folder(place);
  Path unused;
  return place.is_visible() ? make_parents(place)
                            : for_new(AT_FDCWD, place.path, unused) != nullptr;
}

bool move_place(Place& old_place, Place& place) {
  Path from;
  Path to;
  const bool over_folder = !place.free && place.user != 0 && is_folder(place);
  if (!old_place.free && (!may_remove(old_place) || !own_it(old_place))) return false;
  if (!prepare_target(place)) return false;
  const char* source = path_for_move(old_place, from);
  const char* target = path_for_move(place, to);
  if (source == nullptr || target == nullptr) return false;
  if (!old_place.free && old_place.user != 0 && !mark_removed(old_place.path)) return false;
  return move_or_copy(source, target) && (!over_folder || mark_removed(place.path));
}

}  // namespace

int remove_file(int folder, const char* path) {
  const int error = errno;
  Place place;
  char own[PATH_MAX];
  if (!find(folder, path, Last::keep, place)) return -1;
  if (place.free || (place.user != 0 && !S_ISREG(place.user) && !S_ISLNK(place.user) &&
                     !S_ISDIR(place.user) && place.own == Own::nothing)) {
    return result(remove_name(place.path));
  }
  if (!place.is_visible()) return refuse(ENOENT);
  if (is_folder(place)) return refuse(EISDIR);
  if (!may_remove(place)) return -1;
  // With the trial's folders above it, which a listing then shows.
  if (place.user != 0 && (!make_parents(place) || !mark_removed(place.path))) return -1;
  if (place.own != Own::nothing && (!own_path(place, own) || !remove_name(own))) return -1;
  count_change();
  errno = error;
  return 0;
}

int remove_folder(int folder, const char* path) {
  const int error = errno;
  Place place;
  char own[PATH_MAX];
  if (!find(folder, path, Last::keep, place)) return -1;
  if (place.free) return result(remove_name(place.path, AT_REMOVEDIR));
  if (!place.is_visible()) return refuse(ENOENT);
  if (!is_folder(place) || place.through_link) return refuse(ENOTDIR);
  if (!may_remove(place) || !own_folder(place)) return -1;
  if (!own_path(place, own) || !remove_name(own, AT_REMOVEDIR)) return -1;
  if (place.user != 0 && !mark_removed(place.path)) return -1;
  count_change();
  errno = error;
  return 0;
}

int rename_file(int old_folder, const char* old_path, int folder, const char* path,
                unsigned flags) {
  const int error = errno;
  Place old_place;
  Place place;
  if ((flags & ~static_cast<unsigned>(RENAME_NOREPLACE)) != 0) return refuse(EINVAL);
  if (!find(old_folder, old_path, Last::keep, old_place)) return -1;
  if (!find(folder, path, Last::keep, place)) return -1;
  if (old_place.through_link || place.through_link) return refuse(ENOTDIR);
  if (old_place.free) look_at_free(old_place);
  if (place.free) look_at_free(place);
  if (old_place.free && place.free) {
    return static_cast<int>(
        ::syscall(SYS_renameat2, AT_FDCWD, old_place.path, AT_FDCWD, place.path, flags));
  }
  if (old_place.is_visible() && std::strcmp(old_place.path, place.path) == 0) {
    return flags == 0 ? 0 : refuse(EEXIST);
  }
  if (const int reason = reason_against(old_place, place, flags); reason != 0) {
    return refuse(reason);
  }
  if (!move_place(old_place, place)) return -1;
  errno = error;
  return 0;
}

int link_file(int old_folder, const char* old_path, int folder, const char* path, int flags) {
  const Last last = (flags & AT_SYMLINK_FOLLOW) != 0 ? Last::follow : Last::keep;
  Path from;
  Path to;
  // An open file (AT_EMPTY_PATH), or its link in /proc, has no place.
  Place place;
  Place made;
  const char* source = old_path;
  if (old_path[0] != '\0') {
    if (!find(old_folder, old_path, last, place)) return -1;
    if (!place.free && !place.is_visible()) return refuse(ENOENT);
    if (!find(folder, path, Last::keep, made)) return -1;
    if (place.is_visible() && !made.free && made.is_visible()) return refuse(EEXIST);
    if (!made.free && made.slash) return refuse(ENOENT);
    if (place.is_visible() && is_folder(place)) return refuse(EPERM);
    source = for_change(old_folder, old_path, last, from);
  }
  const char* target = source != nullptr ? for_new(folder, path, to) : nullptr;
  if (target == nullptr) return -1;
  const int kept = old_path[0] == '\0' || place.free ? flags : flags & ~AT_SYMLINK_FOLLOW;
  return static_cast<int>(::syscall(SYS_linkat, old_folder, source, folder, target, kept));
}

}  // namespace tundish::guard
