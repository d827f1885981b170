// Judges memory: available memory, swap, /dev/shm, limits of the process.
#pragma once

#include "base/machine/host_memory_state.h"
#include "tools/environment/finding.h"

namespace tundish {

Findings check_memory(const HostMemoryState& memory);

}  // namespace tundish
