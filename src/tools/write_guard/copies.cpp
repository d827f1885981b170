#include "tools/write_guard/copies.h"

#include <linux/fs.h>
#include <sys/ioctl.h>

#include <cstring>

#include "tools/write_guard/entries.h"
#include "tools/write_guard/generation.h"
#include "tools/write_guard/system_calls.h"

namespace tundish::guard {
namespace {

constexpr unsigned kOwn = 0700;  // the trial must be able to write in its folders

unsigned mode_of(const struct stat& about) { return about.st_mode & 0777; }

bool set_times(const char* path, const struct stat& about) {
  const struct timespec times[2] = {about.st_atim, about.st_mtim};
  return ::syscall(SYS_utimensat, AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW) == 0;
}

// A folder of the trial that stands for the user's becomes a real one.
bool make_own_folder(const char* own, const char* user) {
  struct stat about;
  if (read_status(own, about) && (about.st_mode & S_ISVTX) == 0) return true;
  bool done = make_folder(own, kOwn);
  if (done && read_status(user, about)) {
    done = set_mode(own, mode_of(about) | kOwn) && set_times(own, about);
  }
  count_change();
  return done;
}

// A name in the trial's folder that no other thread uses.
bool spare_path(char (&out)[PATH_MAX]) {
  char name[32] = "copy-";
  std::size_t at = std::strlen(name);
  for (long rest = ::syscall(SYS_gettid); rest > 0; rest /= 10) {
    name[at++] = static_cast<char>('0' + rest % 10);
  }
  name[at] = '\0';
  return join(out, settings().folder, name);
}

bool copy_bytes(int source, int target, off_t size) {
  if (size == 0 || ::ioctl(target, FICLONE, source) == 0) return true;
  if (size > kMaxCopied) return fail(EROFS);
  for (;;) {
    const long count = ::syscall(SYS_sendfile, target, source, nullptr, std::size_t{1} << 20);
    if (count <= 0) return count == 0;
  }
}

bool copy_regular(const char* from, const char* to, const struct stat& about, Keep keep) {
  const bool with_contents = keep == Keep::contents && about.st_size > 0;
  int source = -1;
  if (with_contents && (source = open_file(from, O_RDONLY)) < 0) return false;
  const int target = open_file(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  bool done = target >= 0 && (!with_contents || copy_bytes(source, target, about.st_size));
  done = done && ::syscall(SYS_fchmod, target, mode_of(about)) == 0;
  if (source >= 0) close_file(source);
  if (target >= 0) close_file(target);
  return done && set_times(to, about);
}

bool copy_link(const char* from, const char* to) {
  char target[PATH_MAX];
  const long size = read_link(from, target, sizeof target - 1);
  if (size < 0) return false;
  target[size] = '\0';
  const bool done = ::syscall(SYS_symlinkat, target, AT_FDCWD, to) == 0;
  const int error = errno;
  count_change();
  return done || fail(error);
}

// Puts a finished copy in place, unless another process was faster.
bool publish(const char* spare, const char* own, bool over_stand_in) {
  if (over_stand_in) return move_name(spare, own);
  const bool done = ::syscall(SYS_linkat, AT_FDCWD, spare, AT_FDCWD, own, 0) == 0;
  const int error = errno;
  remove_name(spare);
  return done || error == EEXIST || fail(error);
}

bool make_stand_in(const Place& place, const char* name) {
  char user[PATH_MAX];
  char own[PATH_MAX];
  struct stat about;
  if (!join(user, place.path, name) || !mark_path(user, kRemoved, own)) return false;
  if (is_there(own) || !read_status(user, about)) return true;
  if (!join(own, settings().files, user)) return false;
  if (S_ISLNK(about.st_mode)) return copy_link(user, own) || errno == EEXIST;
  if (S_ISDIR(about.st_mode)) {
    if (::syscall(SYS_mkdirat, AT_FDCWD, own, kOwn) != 0) return errno == EEXIST;
    return set_mode(own, mode_of(about) | kOwn | S_ISVTX);
  }
  const int file = open_file(own, O_WRONLY | O_CREAT | O_EXCL, 0600 | S_ISVTX);
  if (file < 0) return errno == EEXIST;
  close_file(file);
  return true;
}

bool make_mark(const char* path, const char* mark) {
  char own[PATH_MAX];
  if (!mark_path(path, mark, own)) return false;
  for (char* at = own + std::strlen(settings().folder) - 1;
       (at = std::strchr(at + 1, '/')) != nullptr;) {
    *at = '\0';
    if (!make_folder(own, kOwn)) return false;
    *at = '/';
  }
  const int file = open_file(own, O_WRONLY | O_CREAT, 0600);
  count_change();
  if (file < 0) return false;
  close_file(file);
  return true;
}

bool has_mark(const char* path, const char* mark) {
  char own[PATH_MAX];
  return mark_path(path, mark, own) && is_there(own);
}

constexpr const char* kListed = ".tundish-listed";
constexpr const char* kTooLarge = ".tundish-too-large";

}  // namespace

bool make_parents(const Place& place) {
  if (!make_folder(settings().folder, kOwn) || !make_folder(settings().files, kOwn)) return false;
  char user[PATH_MAX];
  char own[PATH_MAX];
  std::strcpy(user, place.path);
  for (char* at = user; (at = std::strchr(at + 1, '/')) != nullptr;) {
    *at = '\0';
    if (!join(own, settings().files, user) || !make_own_folder(own, user)) return false;
    *at = '/';
  }
  return true;
}

bool copy_user(const Place& place, Keep keep) {
  char own[PATH_MAX];
  char spare[PATH_MAX];
  struct stat about;
  if (!make_parents(place) || !own_path(place, own)) return false;
  if (!read_status(place.path, about)) return false;
  if (S_ISDIR(about.st_mode)) return make_own_folder(own, place.path);
  if (S_ISLNK(about.st_mode)) return copy_link(place.path, own) || errno == EEXIST;
  if (!S_ISREG(about.st_mode)) return fail(EPERM);
  if (!spare_path(spare)) return false;
  if (copy_regular(place.path, spare, about, keep)) {
    return publish(spare, own, place.own == Own::stand_in);
  }
  const int error = errno;
  remove_name(spare);
  return fail(error);
}

bool copy_file(const char* from, const char* to) {
  struct stat about;
  if (!read_status(from, about) || !S_ISREG(about.st_mode)) return fail(EXDEV);
  remove_name(to);
  return copy_regular(from, to, about, Keep::contents);
}

bool mark_removed(const char* path) { return make_mark(path, kRemoved); }

bool complete_listing(const Place& place, bool& done) {
  done = !has_mark(place.path, kTooLarge);
  if (!done || has_mark(place.path, kListed)) return true;
  const int folder = open_file(place.path, O_RDONLY | O_DIRECTORY);
  if (folder < 0) {
    done = false;
    return true;
  }
  char own[PATH_MAX];
  struct stat about;
  if (!own_path(place, own) || !read_status(own, about)) done = false;
  int count = 0;
  done = done && for_each_entry(folder, [&](const Entry&) { return ++count <= kMaxListed; });
  bool complete = true;
  if (done) {
    complete = ::syscall(SYS_lseek, folder, 0, SEEK_SET) == 0 &&
               for_each_entry(folder, [&](const Entry& e) { return make_stand_in(place, e.name); });
  }
  close_file(folder);
  if (done) set_times(own, about);
  return complete && make_mark(place.path, done ? kListed : kTooLarge);
}

}  // namespace tundish::guard
