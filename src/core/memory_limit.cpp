#include "core/memory_limit.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>

namespace tundish {
namespace {

constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();

// The number in a file; kNone for "max", or when there is no such file.
std::uint64_t number_in(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  return file >> value ? value : kNone;
}

// The number behind a word, in a file of lines of words and numbers; kNone when it is not there.
std::uint64_t number_of(const std::string& path, const std::string& name) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string word;
    std::uint64_t value = 0;
    if (words >> word >> value && word == name) return value;
  }
  return kNone;
}

struct Names {
  const char *limit, *usage, *droppable;
};
constexpr Names kVersion1 = {"memory.limit_in_bytes", "memory.usage_in_bytes",
                             "total_inactive_file"};
constexpr Names kVersion2 = {"memory.max", "memory.current", "inactive_file"};

// What one group leaves.
std::uint64_t left_in(const std::string& folder, const Names& names) {
  const std::uint64_t limit = number_in(folder + '/' + names.limit);
  const std::uint64_t usage = number_in(folder + '/' + names.usage);
  if (limit == kNone || usage == kNone) return kNone;
  const std::uint64_t droppable = number_of(folder + "/memory.stat", names.droppable);
  const std::uint64_t used = usage - std::min(usage, droppable == kNone ? 0 : droppable);
  return limit - std::min(limit, used);
}

// The group, and all above it: each may have a limit of its own. In a container the path may be
// the host's, of which only the root is to be seen.
std::uint64_t left_above(const std::string& root, std::string group, const Names& names) {
  std::uint64_t left = left_in(root, names);
  while (group.size() > 1) {
    left = std::min(left, left_in(root + group, names));
    group.resize(group.rfind('/'));
  }
  return left;
}

}  // namespace

std::uint64_t memory_left(const std::string& proc, const std::string& groups) {
  const std::uint64_t available = number_of(proc + "/meminfo", "MemAvailable:");
  std::uint64_t left = available == kNone ? kNone : available * 1024;
  std::ifstream file(proc + "/self/cgroup");
  std::string line;
  while (std::getline(file, line)) {  // "4:memory:/group", "0::/group"
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = ',' + line.substr(first + 1, second - first - 1) + ',';
    const std::string group = line.substr(second + 1);
    if (group.empty() || group[0] != '/') continue;
    if (controllers == ",,") {
      left = std::min(left, left_above(groups, group, kVersion2));
    } else if (controllers.find(",memory,") != std::string::npos) {
      left = std::min(left, left_above(groups + "/memory", group, kVersion1));
    }
  }
  return left == kNone ? 0 : left;
}

}  // namespace tundish
