// Decides which file a path of the script means: the user's file, or the trial's copy of it.
//
// Reading functions get the trial's file if there is one. Writing functions always get the trial's
// file, except in allowed folders. All functions may be called from any thread and allocate nothing.
#pragma once

#include <climits>
#include <cstddef>

namespace tundish::guard {

struct Path {
  char text[PATH_MAX + 64];
};

// What a writing function needs of the file before it is opened.
enum class Keep {
  nothing,   // it is replaced: O_TRUNC, rename
  contents,  // it is changed in place: append, O_RDWR
};

// The path for a function that reads `path` relative to `folder` (AT_FDCWD, or an open folder).
// Returns `path` itself if the user's file is meant.
const char* for_reading(int folder, const char* path, Path& out);

// The path for a function that writes. Makes the folders above it and, for `Keep::contents`, a copy
// of the user's file. Returns null and sets errno if that is impossible.
const char* for_writing(int folder, const char* path, Keep keep, Path& out);

// Marks the user's file as removed, so that reading functions do not find it.
// Returns false and sets errno if there is neither a file of the user nor one of the trial.
bool mark_removed(int folder, const char* path);

// Whether the path is in an allowed folder, so that the original function must be called.
bool is_allowed(int folder, const char* path);

// Whether the trial, or the user, has such a file now.
bool exists(int folder, const char* path);

// A function of the C library behind this one.
void* original(const char* name);

}  // namespace tundish::guard

// Calls the original of a C function: CALL(open, path, flags).
#define TUNDISH_ORIGINAL(name) \
  (reinterpret_cast<decltype(&name)>(tundish::guard::original(#name)))
