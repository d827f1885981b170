// Page-locked host memory, from which a GPU copies without the CPU.
// A build without CUDA links no_cuda.cpp instead of pinned.cpp; its pinned_memory() always
// returns null.
#pragma once

#include <string>

#include "base/host_memory.h"

namespace tundish::cuda {

// Page-locked for every device of the process. Falls back to plain memory, with slower copies, if
// the system refuses. Callable from any thread, even while a graph is recorded.
extern const HostAllocator kPinnedMemory;

// Returns nullptr if page-locked memory is unavailable; `why` then holds the reason. Creates a CUDA
// context.
const HostAllocator* pinned_memory(std::string& why);

}  // namespace tundish::cuda
