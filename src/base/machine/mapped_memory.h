// Memory that comes directly from the system, and returns to the system as soon as it is freed.
// malloc keeps freed pieces of up to 32 MiB, which a memory budget cannot reuse.
#pragma once

#include "base/host_memory.h"

namespace tundish {

extern const HostAllocator kMappedMemory;

// Makes malloc take large pieces from the system and return each one when freed. By default, every
// large piece that is freed raises malloc's threshold; it then keeps up to 64 MiB per thread.
// Affects the whole process, so only a loader with a memory budget calls this.
void keep_malloc_small();

// Returns the freed memory that malloc keeps to the system, in every arena.
void trim_freed_memory();

}  // namespace tundish
