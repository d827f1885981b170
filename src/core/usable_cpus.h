// How many CPUs this process may use: affinity and cgroup quota, not the machine's number.
#pragma once

namespace tundish {

unsigned usable_cpus();  // at least 1

}  // namespace tundish
