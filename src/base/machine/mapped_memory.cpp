#include "base/machine/mapped_memory.h"

#include <malloc.h>
#include <sys/mman.h>

namespace tundish {
namespace {

// Stores the length in front of the memory, in a separate cache line.
void* take(std::size_t bytes) {
  const std::size_t length = bytes + kHostAlignment;
  void* at = ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return nullptr;
  *static_cast<std::size_t*>(at) = length;
  return static_cast<std::byte*>(at) + kHostAlignment;
}

void give(void* memory) {
  void* at = static_cast<std::byte*>(memory) - kHostAlignment;
  ::munmap(at, *static_cast<std::size_t*>(at));
}

}  // namespace

const HostAllocator kMappedMemory = {take, give};

void keep_malloc_small() {
  ::mallopt(M_MMAP_THRESHOLD, 1 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 2 << 20);
}

void trim_freed_memory() { ::malloc_trim(0); }

}  // namespace tundish
