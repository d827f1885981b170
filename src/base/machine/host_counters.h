// Monotonic counters of the machine: CPU time, disks, and the control group. A rate is the
// difference of two readings.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/machine/roots.h"

namespace tundish {

struct CpuTime {
  std::uint64_t all = 0, idle = 0, waiting = 0;  // ticks of all CPUs; waiting: idle, with disk I/O
};
std::optional<CpuTime> parse_cpu_time(std::string_view stat);  // parses /proc/stat; any bytes

struct DiskCounters {
  std::string name;
  std::uint64_t reads = 0, read_sectors = 0, writes = 0, written_sectors = 0;
  std::uint64_t busy_ms = 0;
};
inline constexpr std::uint64_t kSectorBytes = 512;  // independent of the disk's sector size
// Parses /proc/diskstats; accepts any bytes. Returns at most 256 disks.
std::vector<DiskCounters> parse_disks(std::string_view diskstats);

struct GroupCounters {
  double quota = 0;  // CPUs; 0: no quota
  std::optional<std::uint64_t> cpu_ns;
  std::optional<std::uint64_t> memory_used, memory_limit;  // bytes
};

struct HostCounters {
  std::uint64_t at_ns = 0;
  std::optional<CpuTime> cpu;
  std::vector<DiskCounters> disks;  // whole disks with any I/O so far, no loop devices
  GroupCounters group;              // control group of this process
  std::uint64_t memory_total = 0, memory_available = 0, page_cache = 0;  // bytes; 0: unknown
};

HostCounters read_host_counters(const SystemRoots& roots = {});

}  // namespace tundish
