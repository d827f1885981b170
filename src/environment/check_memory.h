// Judges memory: what is left, swap, /dev/shm, limits of the process.
#pragma once

#include "environment/finding.h"
#include "system/host_memory_state.h"

namespace tundish {

Findings check_memory(const HostMemoryState& memory);

}  // namespace tundish
