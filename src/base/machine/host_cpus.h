// The CPUs of the machine, and the CPUs that this process may use.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/machine/roots.h"

namespace tundish {

struct MemoryNode {
  std::uint32_t number = 0;
  std::vector<std::uint32_t> cpus{};
};

struct HostCpus {
  std::vector<std::uint32_t> online;          // CPUs of the machine; empty: unknown
  std::vector<std::uint32_t> allowed;         // CPUs by affinity and cpuset; empty: unknown
  double quota = 0;                           // CPUs by control groups; 0: no quota
  std::uint64_t quota_periods = 0;            // since group creation; 0: no quota, or unknown
  std::uint64_t throttled_periods = 0;        // periods in which the group had to wait
  double load = 0;                            // load average over one minute, in tasks
  std::map<std::string, unsigned> governors;  // counts over allowed CPUs; empty: no governors
  std::string frequency_driver;
  std::vector<MemoryNode> nodes;             // NUMA nodes; empty: unknown
  std::vector<std::uint32_t> allowed_nodes;  // nodes that memory may come from; empty: unknown

  double usable() const;  // CPUs that are allowed and within the quota; 0: unknown
};

HostCpus read_host_cpus(const SystemRoots& roots = {});

}  // namespace tundish
