// The CPUs of the machine, and which part of them this process may use.
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
  std::vector<std::uint32_t> online;          // of the machine; empty: not known
  std::vector<std::uint32_t> allowed;         // by affinity and cpuset; empty: not known
  double quota = 0;                           // CPUs by control groups; 0: none
  std::uint64_t quota_periods = 0;            // since the group was made; 0: no quota, or not known
  std::uint64_t throttled_periods = 0;        // those in which the group had to wait
  double load = 0;                            // tasks that run or want to, mean of a minute
  std::map<std::string, unsigned> governors;  // of allowed CPUs; empty: the machine has none
  std::string frequency_driver;
  std::vector<MemoryNode> nodes;             // NUMA; empty: not known
  std::vector<std::uint32_t> allowed_nodes;  // memory may come from these; empty: not known

  double usable() const;  // CPUs: allowed, and what the quota leaves of them; 0: not known
};

HostCpus read_host_cpus(const SystemRoots& roots = {});

}  // namespace tundish
