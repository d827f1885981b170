// Decides which file a function of the C library uses: the user's file, or the trial's version.
//
// Each function returns the path to use, which is `path` itself or `out.text`. Those that prepare a
// change return null and set errno if it is impossible. They may be called from any thread, also in
// a child process after fork or vfork, and allocate nothing.
#pragma once

#include <climits>

#include "tools/write_guard/place.h"

namespace tundish::guard {

struct Path {
  char text[PATH_MAX];
};

// For a function that only reads. errno is kept.
const char* for_reading(int folder, const char* path, Last last, Path& out);

// For open(): reads or writes, by its flags.
const char* for_opening(int folder, const char* path, int flags, Path& out);

// For a function that changes an existing file: truncate, chmod. Copies the user's file.
const char* for_change(int folder, const char* path, Last last, Path& out);

// For a function that makes something new: mkdir, symlink.
const char* for_new(int folder, const char* path, Path& out);

// For an open file, as fchmod() changes it: the trial's copy of the user's file it was opened from,
// or null if it may be changed itself.
const char* for_open_file(int file, Path& out);

// unlink and rmdir, rename, link: 0, or -1 with errno.
int remove_file(int folder, const char* path);
int remove_folder(int folder, const char* path);
int rename_file(int old_folder, const char* old_path, int folder, const char* path, unsigned flags);
int link_file(int old_folder, const char* old_path, int folder, const char* path, int flags);

// The path as the script sees it: /a/b for FOLDER/files/a/b. In place.
void show_as_seen(char* path);

}  // namespace tundish::guard
