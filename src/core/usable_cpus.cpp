#include "core/usable_cpus.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>

namespace tundish {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();

double number_in(const std::string& path) {
  double value = 0;
  std::ifstream file(path);
  return file >> value ? value : 0;
}

// Quota over period of one group.
double quota_of(const std::string& folder, bool version_2) {
  double quota = 0, period = 0;
  if (version_2) {
    std::ifstream file(folder + "/cpu.max");  // "150000 100000", or "max 100000"
    if (!(file >> quota >> period)) return kNone;
  } else {
    quota = number_in(folder + "/cpu.cfs_quota_us");  // -1: none
    period = number_in(folder + "/cpu.cfs_period_us");
  }
  return quota > 0 && period > 0 ? quota / period : kNone;
}

// The group, and all above it: each may have a quota of its own. In a container the path may be the
// host's, of which only the root is to be seen.
double quota_above(const std::string& root, std::string group, bool version_2) {
  double quota = quota_of(root, version_2);
  while (group.size() > 1) {
    quota = std::min(quota, quota_of(root + group, version_2));
    group.resize(group.rfind('/'));
  }
  return quota;
}

}  // namespace

double cpu_quota(const std::string& proc, const std::string& groups) {
  double quota = kNone;
  std::ifstream file(proc + "/self/cgroup");
  std::string line;
  while (std::getline(file, line)) {  // "4:cpu,cpuacct:/group", "0::/group"
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = ',' + line.substr(first + 1, second - first - 1) + ',';
    const std::string group = line.substr(second + 1);
    if (group.empty() || group[0] != '/') continue;
    if (controllers == ",,") {
      quota = std::min(quota, quota_above(groups, group, true));
    } else if (controllers.find(",cpu,") != std::string::npos) {
      quota = std::min(quota, quota_above(groups + "/cpu", group, false));
    }
  }
  return quota == kNone ? 0 : quota;
}

unsigned usable_cpus() {
  unsigned cpus = 1;
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) == 0) {
    cpus = static_cast<unsigned>(std::max(1, CPU_COUNT(&set)));
  }
  const double quota = cpu_quota();
  if (quota > 0 && quota < cpus) cpus = static_cast<unsigned>(std::max(1.0, std::ceil(quota)));
  return cpus;
}

}  // namespace tundish
