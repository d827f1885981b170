// Counters of the machine that only grow: CPU time, disks, and the control group's. Rates are the
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
  std::uint64_t all = 0, idle = 0, waiting = 0;  // ticks of all CPUs; waiting: idle for a disk
};
std::optional<CpuTime> parse_cpu_time(std::string_view stat);  // of /proc/stat; any bytes

struct DiskCounters {
  std::string name;
  std::uint64_t reads = 0, read_sectors = 0, writes = 0, written_sectors = 0;
  std::uint64_t busy_ms = 0;
};
inline constexpr std::uint64_t kSectorBytes = 512;  // whatever the disk's own are
// Of /proc/diskstats; any bytes. At most 256.
std::vector<DiskCounters> parse_disks(std::string_view diskstats);

struct GroupCounters {
  double quota = 0;  // CPUs; 0: none
  std::optional<std::uint64_t> cpu_ns;
  std::optional<std::uint64_t> memory_used, memory_limit;  // bytes
};

struct HostCounters {
  std::uint64_t at_ns = 0;
  std::optional<CpuTime> cpu;
  std::vector<DiskCounters> disks;  // whole ones that were ever used, without loop devices
  GroupCounters group;              // of this process
  std::uint64_t memory_total = 0, memory_available = 0, page_cache = 0;  // bytes; 0: not known
};

HostCounters read_host_counters(const SystemRoots& roots = {});

}  // namespace tundish
