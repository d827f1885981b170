// How much memory this process may still take: what the machine has available, and what the
// limits of its control groups (versions 1 and 2, every group above it) leave.
#pragma once

#include <cstdint>
#include <string>

namespace tundish {

// Bytes. Pages that the system can drop at once, such as cached files, count as free. 0 when
// nothing can be found out. The folders are for tests.
std::uint64_t memory_left(const std::string& proc = "/proc",
                          const std::string& groups = "/sys/fs/cgroup");

}  // namespace tundish
