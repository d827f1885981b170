#include "tools/write_guard/settings.h"

#include <pthread.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace tundish::guard {
namespace {

constexpr const char* kNames[kVariables] = {"LD_PRELOAD", "TUNDISH_GUARD_FOLDER",
                                            "TUNDISH_GUARD_ALLOW"};

Settings made;
pthread_once_t once = PTHREAD_ONCE_INIT;
char variables_at_start[kVariables][kMaxAllowed * 1024];

void keep_variables() {
  for (int i = 0; i < kVariables; ++i) {
    const char* value = std::getenv(kNames[i]);
    char* out = variables_at_start[i];
    const std::size_t name = std::strlen(kNames[i]);
    if (value == nullptr || name + std::strlen(value) + 2 > sizeof variables_at_start[i]) continue;
    std::memcpy(out, kNames[i], name);
    out[name] = '=';
    std::strcpy(out + name + 1, value);
  }
}

void read_allowed(const char* rest) {
  while (rest != nullptr && *rest != '\0' && made.allowed_count < kMaxAllowed) {
    const char* end = std::strchr(rest, ':');
    const std::size_t size =
        end != nullptr ? static_cast<std::size_t>(end - rest) : std::strlen(rest);
    if (size > 0 && size < PATH_MAX) std::memcpy(made.allowed[made.allowed_count++], rest, size);
    rest = end != nullptr ? end + 1 : nullptr;
  }
}

void read_environment() {
  const int error = errno;
  const char* folder = std::getenv("TUNDISH_GUARD_FOLDER");
  if (folder != nullptr && folder[0] == '/' && std::strlen(folder) < sizeof made.folder) {
    std::strcpy(made.folder, folder);
    made.on = join(made.files, folder, "files") && join(made.removed, folder, "removed");
    read_allowed(std::getenv("TUNDISH_GUARD_ALLOW"));
    keep_variables();
  }
  errno = error;
}

// Before the threads of the program start, and before it changes its environment.
__attribute__((constructor)) void read_at_start() { settings(); }

}  // namespace

const Settings& settings() {
  pthread_once(&once, read_environment);
  return made;
}

int missing_variables(char* const* variables, char** out) {
  if (!settings().on) return 0;
  int count = 0;
  for (int i = 0; i < kVariables; ++i) {
    const std::size_t size = std::strlen(kNames[i]);
    bool found = variables_at_start[i][0] == '\0';
    for (char* const* one = variables; one != nullptr && *one != nullptr && !found; ++one) {
      found = std::strncmp(*one, kNames[i], size) == 0 && (*one)[size] == '=';
    }
    if (!found) out[count++] = variables_at_start[i];
  }
  return count;
}

bool is_below(const char* path, const char* folder) {
  const std::size_t size = std::strlen(folder);
  if (size == 0 || std::strncmp(path, folder, size) != 0) return false;
  return path[size] == '/' || path[size] == '\0';
}

bool join(char (&out)[PATH_MAX], const char* first, const char* second) {
  while (*second == '/') ++second;
  const std::size_t one = std::strlen(first);
  const std::size_t two = std::strlen(second);
  if (one + two + 2 > PATH_MAX) {
    errno = ENAMETOOLONG;
    return false;
  }
  std::memmove(out, first, one);
  out[one] = '/';
  std::memcpy(out + one + 1, second, two + 1);
  return true;
}

}  // namespace tundish::guard
