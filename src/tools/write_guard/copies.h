// The trial's files: copies of the user's files, marks of removed files, listings.
//
// All functions return false and set errno if they fail.
#pragma once

#include <sys/types.h>

#include "tools/write_guard/place.h"

namespace tundish::guard {

constexpr off_t kMaxCopied = off_t{256} << 20;  // bytes, unless the file system shares blocks
constexpr int kMaxListed = 10'000;              // entries of a folder

enum class Keep { nothing, contents };

// Makes the trial's folders above the place.
bool make_parents(const Place& place);

// Makes the trial's version of a file, folder or link of the user, with its mode and time. Another
// process sees it complete or not at all.
bool copy_user(const Place& place, Keep keep);

// A folder of the user with everything in it, for a rename. Fails with EXDEV, as a rename to
// another file system, if the files have more than kMaxCopied bytes.
bool copy_user_tree(const Place& place);

// The file `from` as the new file `to`, for a rename between file systems.
bool copy_file(const char* from, const char* to);

// Hides the user's file, and everything below it.
bool mark_removed(const char* path);

// Completes the trial's folder at a place where the user has one too: each entry of the user's
// folder gets a stand-in, so that a listing shows both. Sets `done` to false for a folder with
// more than kMaxListed entries, of which nothing is listed.
bool complete_listing(const Place& place, bool& done);

}  // namespace tundish::guard
