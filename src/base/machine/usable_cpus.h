// How many CPUs this process may use: its affinity, and the quota of its control groups (versions 1
// and 2, every group above it), not the machine's number.
#pragma once

#include <string>

namespace tundish {

unsigned usable_cpus();    // at least 1
double usable_cpu_time();  // the same not rounded up: 1.5 with such a quota; above 0

// CPUs that the quotas leave, such as 1.5; 0 when there is none. The folders are for tests.
double cpu_quota(const std::string& proc = "/proc", const std::string& groups = "/sys/fs/cgroup");

}  // namespace tundish
