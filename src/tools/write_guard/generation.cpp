#include "tools/write_guard/generation.h"

#include <pthread.h>
#include <sys/mman.h>

#include "tools/write_guard/settings.h"
#include "tools/write_guard/system_calls.h"

namespace tundish::guard {
namespace {

constexpr std::size_t kSize = 4096;
pthread_once_t once = PTHREAD_ONCE_INIT;
unsigned long* counter = nullptr;  // in a file of the trial's folder

void open_counter() {
  const int error = errno;
  char path[PATH_MAX];
  if (settings().on && make_folder(settings().folder, 0700) &&
      join(path, settings().folder, "generation")) {
    const int file = open_file(path, O_RDWR | O_CREAT, 0600);
    if (file >= 0 && ::syscall(SYS_ftruncate, file, kSize) == 0) {
      void* mapped = ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
      if (mapped != MAP_FAILED) counter = static_cast<unsigned long*>(mapped);
    }
    if (file >= 0) close_file(file);
  }
  errno = error;
}

__attribute__((constructor)) void open_at_start() { pthread_once(&once, open_counter); }

}  // namespace

unsigned long generation() {
  pthread_once(&once, open_counter);
  return counter != nullptr ? __atomic_load_n(counter, __ATOMIC_ACQUIRE) : kUnknown;
}

void count_change() {
  pthread_once(&once, open_counter);
  if (counter != nullptr) __atomic_add_fetch(counter, 1, __ATOMIC_ACQ_REL);
}

}  // namespace tundish::guard
