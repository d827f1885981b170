// Memory directly from the system, which returns to the system as soon as it is freed. malloc keeps
// freed pieces of up to 32 MiB for itself, and a budget cannot count on those.
#pragma once

#include "base/host_memory.h"

namespace tundish {

extern const HostAllocator kMappedMemory;

// From now on malloc takes large pieces from the system, and gives them back, one by one. By itself
// it learns from large pieces that are freed to keep ever larger ones (up to 64 MiB per thread).
// For the whole process, which is why only a loader with a budget asks for it.
void keep_malloc_small();

// What malloc keeps of freed memory goes back to the system, on every arena.
void trim_freed_memory();

}  // namespace tundish
