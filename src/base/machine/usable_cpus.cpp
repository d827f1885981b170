#include "base/machine/usable_cpus.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>

#include "base/machine/control_groups.h"

namespace tundish {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();

double number_in(const std::string& path) {
  double value = 0;
  std::ifstream file(path);
  return file >> value ? value : 0;
}

// Returns the quota of one group divided by its period.
double quota_of(const std::string& folder, bool version_2) {
  double quota = 0, period = 0;
  if (version_2) {
    std::ifstream file(folder + "/cpu.max");  // "150000 100000", or "max 100000"
    if (!(file >> quota >> period)) return kNone;
  } else {
    quota = number_in(folder + "/cpu.cfs_quota_us");  // -1: no quota
    period = number_in(folder + "/cpu.cfs_period_us");
  }
  return quota > 0 && period > 0 ? quota / period : kNone;
}

}  // namespace

double cpu_quota(const std::string& proc, const std::string& groups) {
  double quota = kNone;
  for (const GroupFolder& folder : group_folders("cpu", proc, groups)) {
    quota = std::min(quota, quota_of(folder.path, folder.version_2));
  }
  return quota == kNone ? 0 : quota;
}

double usable_cpu_time() {
  double cpus = 1;
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) == 0) {
    cpus = std::max(1, CPU_COUNT(&set));
  }
  const double quota = cpu_quota();
  return quota > 0 ? std::min(quota, cpus) : cpus;
}

unsigned usable_cpus() {
  return static_cast<unsigned>(std::max(1.0, std::ceil(usable_cpu_time())));
}

}  // namespace tundish
