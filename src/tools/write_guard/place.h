// Where a path of the script leads: the user's file, the trial's file, or a removed file.
#pragma once

#include <sys/types.h>

#include <climits>

#include "tools/write_guard/settings.h"

namespace tundish::guard {

// What the trial has at a place.
enum class Own {
  nothing,
  file,
  folder,
  link,
  stand_in,  // an entry of a listing (copies.h) that means the user's file
};

struct Place {
  char path[PATH_MAX];  // as the script sees it: absolute, without links
  Own own = Own::nothing;
  bool free = false;          // not guarded; `path` may contain links
  bool hidden = false;        // the user's file, or a folder above it, was removed in the trial
  bool slash = false;         // a folder is required
  bool through_link = false;  // a last part that is a link was followed because of its slash
  bool mapped = false;        // the C library would find something else by the original path
  bool reached = false;       // the last part is known, also if find() fails
  mode_t user = 0;            // type and mode of the user's file; 0: none, or hidden

  bool is_visible() const { return own == Own::nothing || own == Own::stand_in ? user != 0 : true; }
};

enum class Last { follow, keep };    // a last part that is a link
enum class Purpose { read, write };  // to read, Place::user is only set if it is needed

// Finds the place of `path`, relative to `folder` (AT_FDCWD, or an open folder).
// False, with errno, if a folder of the path is missing.
bool find(int folder, const char* path, Last last, Place& out, Purpose purpose = Purpose::write);

// FOLDER/files/PATH and FOLDER/removed/PATH/MARK.
bool own_path(const Place& place, char (&out)[PATH_MAX]);
bool mark_path(const char* path, const char* mark, char (&out)[PATH_MAX]);
constexpr const char* kRemoved = ".tundish-removed";

// The absolute path of an open file. False if it has none.
bool path_of(int file, char (&out)[PATH_MAX]);

}  // namespace tundish::guard
