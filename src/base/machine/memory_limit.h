// The memory that this process may still allocate: the minimum of what the machine has available
// and what the limits of its control groups (versions 1 and 2, with all ancestors) leave.
#pragma once

#include <cstdint>
#include <string>

namespace tundish {

// Returns bytes. Pages that the system can drop at once, such as cached files, count as free.
// Returns 0 if no value can be read. Tests pass their own folders.
std::uint64_t memory_left(const std::string& proc = "/proc",
                          const std::string& groups = "/sys/fs/cgroup");

}  // namespace tundish
