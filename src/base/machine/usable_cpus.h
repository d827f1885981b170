// The CPUs that this process may use, by its affinity and the quota of its control groups
// (versions 1 and 2, with all ancestors), not the number of CPUs in the machine.
#pragma once

#include <string>

namespace tundish {

unsigned usable_cpus();    // at least 1
double usable_cpu_time();  // not rounded up, such as 1.5 with a quota; above 0

// Returns the CPUs that the quotas leave, such as 1.5; 0: no quota. Tests pass their own folders.
double cpu_quota(const std::string& proc = "/proc", const std::string& groups = "/sys/fs/cgroup");

}  // namespace tundish
