// Memory of the machine and its control groups, shared memory, and limits of this process.
#pragma once

#include <cstdint>
#include <optional>

#include "base/machine/roots.h"

namespace tundish {

inline constexpr std::uint64_t kNoMemoryLimit = ~std::uint64_t{0};

struct HostMemoryState {
  std::uint64_t total = 0, available = 0;  // bytes; 0: unknown
  std::uint64_t swap_total = 0, swap_free = 0;
  std::uint64_t limit = kNoMemoryLimit;       // bytes, of the tightest control group
  std::uint64_t left = 0;                     // bytes still free for this process; 0: unknown
  std::uint64_t killed = 0;                   // processes of the group that were OOM-killed
  std::optional<std::uint64_t> shared_bytes;  // size of /dev/shm; empty: no such folder
  std::uint64_t shared_free = 0;
  std::optional<std::uint64_t> locked_limit;  // bytes that may be locked (RLIMIT_MEMLOCK)
  std::optional<std::uint64_t> open_files;    // descriptors (RLIMIT_NOFILE, soft)
  bool has_infiniband = false;                // has devices that need locked memory
};

HostMemoryState read_host_memory(const SystemRoots& roots = {});

}  // namespace tundish
