#include "core/usable_cpus.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>

namespace tundish {
namespace {

using OpenFile = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

// Quota over period; 0 when there is none.
double cgroup_cpus() {
  if (OpenFile file{std::fopen("/sys/fs/cgroup/cpu.max", "re"), std::fclose}) {  // version 2
    double quota = 0, period = 0;
    if (std::fscanf(file.get(), "%lf %lf", &quota, &period) == 2 && period > 0)
      return quota / period;
    return 0;  // "max"
  }
  const auto number = [](const char* path) {
    double value = 0;
    OpenFile file{std::fopen(path, "re"), std::fclose};
    if (!file || std::fscanf(file.get(), "%lf", &value) != 1) return 0.0;
    return value;
  };
  const double quota = number("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
  const double period = number("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  return quota > 0 && period > 0 ? quota / period : 0;
}

}  // namespace

unsigned usable_cpus() {
  unsigned cpus = 1;
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) == 0) {
    cpus = static_cast<unsigned>(std::max(1, CPU_COUNT(&set)));
  }
  const double quota = cgroup_cpus();
  if (quota > 0) cpus = std::min(cpus, static_cast<unsigned>(std::max(1.0, std::ceil(quota))));
  return cpus;
}

}  // namespace tundish
