// Copies a whole folder of the user to the trial.
#include "tools/write_guard/copies.h"
#include "tools/write_guard/entries.h"

namespace tundish::guard {
namespace {

bool copy_below(const Place& place, off_t& left);

bool copy_entry(const char* path, off_t& left) {
  Place place;
  if (!find(AT_FDCWD, path, Last::keep, place)) return false;
  if (place.own == Own::folder) return place.user == 0 || copy_below(place, left);
  if (place.own != Own::stand_in) return true;  // a file or a link of the trial
  if (S_ISDIR(place.user)) {
    if (!copy_user(place, Keep::contents)) return false;
    place.own = Own::folder;
    return copy_below(place, left);
  }
  struct stat about;
  if (!read_status(path, about) || !S_ISREG(about.st_mode)) return fail(EXDEV);
  left -= about.st_size;
  return left >= 0 ? copy_user(place, Keep::contents) : fail(EXDEV);
}

bool copy_below(const Place& place, off_t& left) {
  bool done = false;
  char own[PATH_MAX];
  if (!complete_listing(place, done) || !own_path(place, own)) return false;
  if (!done) return fail(EXDEV);
  const int folder = open_file(own, O_RDONLY | O_DIRECTORY);
  if (folder < 0) return false;
  done = for_each_entry(folder, [&](const Entry& entry) {
    char path[PATH_MAX];
    return join(path, place.path, entry.name) && copy_entry(path, left);
  });
  close_file(folder);
  return done;
}

}  // namespace

bool copy_user_tree(const Place& place) {
  off_t left = kMaxCopied;
  return copy_user(place, Keep::contents) && copy_below(place, left);
}

}  // namespace tundish::guard
