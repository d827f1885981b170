// Judges the CPUs: quota against threads, throttling, load, governor, NUMA.
#pragma once

#include <optional>

#include "base/machine/host_cpus.h"
#include "tools/environment/finding.h"

namespace tundish {

// `omp_threads`: the value of OMP_NUM_THREADS, if it is a number.
Findings check_cpus(const HostCpus& cpus, std::optional<std::uint64_t> omp_threads);

}  // namespace tundish
