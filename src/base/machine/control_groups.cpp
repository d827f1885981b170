#include "base/machine/control_groups.h"

#include <fstream>

namespace tundish {

std::vector<GroupFolder> group_folders(const std::string& controller, const std::string& proc,
                                       const std::string& groups) {
  std::vector<GroupFolder> out;
  std::ifstream file(proc + "/self/cgroup");
  std::string line;
  while (std::getline(file, line)) {  // "4:cpu,cpuacct:/group", "0::/group"
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = ',' + line.substr(first + 1, second - first - 1) + ',';
    std::string group = line.substr(second + 1);
    if (group.empty() || group[0] != '/') continue;
    const bool version_2 = controllers == ",,";
    if (!version_2 && controllers.find(',' + controller + ',') == std::string::npos) continue;
    const std::string root = version_2 ? groups : groups + '/' + controller;
    out.push_back({root, version_2});
    for (; group.size() > 1; group.resize(group.rfind('/'))) {
      out.push_back({root + group, version_2});
    }
  }
  return out;
}

}  // namespace tundish
