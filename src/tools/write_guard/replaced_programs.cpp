// The functions that start programs: a program of the trial is found, and the guard is passed on
// also if the caller gives other environment variables.
#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tools/write_guard/redirect.h"
#include "tools/write_guard/replace.h"

using namespace tundish::guard;

namespace {

std::size_t count_of(char* const* variables) {
  std::size_t count = 0;
  while (variables != nullptr && variables[count] != nullptr) ++count;
  return count;
}

char* const* complete(char* const* variables, std::size_t count, char** out) {
  const int added = missing_variables(variables, out + count);
  if (added == 0) return variables;
  if (count > 0) std::memcpy(out, variables, count * sizeof *out);
  out[count + static_cast<std::size_t>(added)] = nullptr;
  return out;
}

const char* find_program(const char* path, Path& out) {
  return std::strchr(path, '/') == nullptr ? path : for_reading(AT_FDCWD, path, Last::follow, out);
}

}  // namespace

// The environment of a new program, on the stack: a child after vfork must not allocate.
#define TUNDISH_COMPLETE(variables)        \
  complete(variables, count_of(variables), \
           static_cast<char**>(            \
               __builtin_alloca((count_of(variables) + kVariables + 1) * sizeof(char*))))

TUNDISH_REPLACE(int, execve, const char* path, char* const* words, char* const* variables) {
  Path out;
  const char* chosen = for_reading(AT_FDCWD, path, Last::follow, out);
  return TUNDISH_ORIGINAL(execve)(chosen, words, TUNDISH_COMPLETE(variables));
}
TUNDISH_REPLACE(int, execv, const char* path, char* const* words) {
  return guarded_execve(path, words, ::environ);
}
TUNDISH_REPLACE(int, execvpe, const char* name, char* const* words, char* const* variables) {
  Path out;
  const char* chosen = find_program(name, out);
  return TUNDISH_ORIGINAL(execvpe)(chosen, words, TUNDISH_COMPLETE(variables));
}
TUNDISH_REPLACE(int, execvp, const char* name, char* const* words) {
  return guarded_execvpe(name, words, ::environ);
}
TUNDISH_REPLACE(int, fexecve, int file, char* const* words, char* const* variables) {
  return TUNDISH_ORIGINAL(fexecve)(file, words, TUNDISH_COMPLETE(variables));
}

TUNDISH_REPLACE(int, posix_spawn, pid_t* process, const char* path,
                const posix_spawn_file_actions_t* actions, const posix_spawnattr_t* attributes,
                char* const* words, char* const* variables) {
  Path out;
  const char* chosen = for_reading(AT_FDCWD, path, Last::follow, out);
  return TUNDISH_ORIGINAL(posix_spawn)(process, chosen, actions, attributes, words,
                                       TUNDISH_COMPLETE(variables));
}
TUNDISH_REPLACE(int, posix_spawnp, pid_t* process, const char* name,
                const posix_spawn_file_actions_t* actions, const posix_spawnattr_t* attributes,
                char* const* words, char* const* variables) {
  Path out;
  const char* chosen = find_program(name, out);
  return TUNDISH_ORIGINAL(posix_spawnp)(process, chosen, actions, attributes, words,
                                        TUNDISH_COMPLETE(variables));
}
// The child opens the file inside the C library.
TUNDISH_REPLACE(int, posix_spawn_file_actions_addopen, posix_spawn_file_actions_t* actions,
                int file, const char* path, int flags, mode_t mode) {
  Path out;
  const char* chosen = for_opening(AT_FDCWD, path, flags, out);
  if (chosen == nullptr) return errno;
  return TUNDISH_ORIGINAL(posix_spawn_file_actions_addopen)(actions, file, chosen, flags, mode);
}

namespace {

// Symbols are looked up before any fork: a child must not wait for the lock of the loader.
__attribute__((constructor)) void find_originals() {
  (void)TUNDISH_ORIGINAL(execve);
  (void)TUNDISH_ORIGINAL(execvpe);
  (void)TUNDISH_ORIGINAL(fexecve);
}

}  // namespace
