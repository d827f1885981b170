// Page-locked host memory, from which a GPU copies without the CPU.
// A build without CUDA links no_cuda.cpp instead of pinned.cpp: the same function, which
// refuses.
#pragma once

#include <string>

#include "base/host_memory.h"

namespace tundish::cuda {

// Page-locked for every device of the process; where the system refuses, plain memory, from which
// copies are slower. Any thread, also while a graph is recorded.
extern const HostAllocator kPinnedMemory;

// nullptr when page-locked memory is not available; `why` then gives the reason. Creates a CUDA
// context.
const HostAllocator* pinned_memory(std::string& why);

}  // namespace tundish::cuda
