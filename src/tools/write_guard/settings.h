// The folders of a trial, from the environment, and text operations on paths.
#pragma once

#include <climits>
#include <cstddef>

namespace tundish::guard {

constexpr int kMaxAllowed = 64;

struct Settings {
  bool on = false;              // false: every function calls the original
  char folder[PATH_MAX] = "";   // TUNDISH_GUARD_FOLDER
  char files[PATH_MAX] = "";    // the trial's files, by the user's paths
  char removed[PATH_MAX] = "";  // marks, by the user's paths
  char allowed[kMaxAllowed][PATH_MAX] = {};
  int allowed_count = 0;
};

// Read at the first call. Later changes of the environment have no effect.
const Settings& settings();

// Passes the guard on to a program whose caller set another environment: `NAME=value` texts that
// are missing in `variables`, at most kVariables.
constexpr int kVariables = 3;
int missing_variables(char* const* variables, char** out);

// The path itself, or anything below the folder.
bool is_below(const char* path, const char* folder);

// FIRST/SECOND, where `second` may begin with a slash. False with ENAMETOOLONG if it does not fit.
bool join(char (&out)[PATH_MAX], const char* first, const char* second);

}  // namespace tundish::guard
