#include "base/machine/memory_limit.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>

#include "base/machine/control_groups.h"

namespace tundish {
namespace {

constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();

// Reads the number in a file; kNone for "max", or if the file does not exist.
std::uint64_t number_in(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  return file >> value ? value : kNone;
}

// Reads the number after `name` in a file of "name number" lines; kNone if the name is missing.
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

// Returns the bytes that one group leaves.
std::uint64_t left_in(const std::string& folder, const Names& names) {
  const std::uint64_t limit = number_in(folder + '/' + names.limit);
  const std::uint64_t usage = number_in(folder + '/' + names.usage);
  if (limit == kNone || usage == kNone) return kNone;
  const std::uint64_t droppable = number_of(folder + "/memory.stat", names.droppable);
  const std::uint64_t used = usage - std::min(usage, droppable == kNone ? 0 : droppable);
  return limit - std::min(limit, used);
}

}  // namespace

std::uint64_t memory_left(const std::string& proc, const std::string& groups) {
  const std::uint64_t available = number_of(proc + "/meminfo", "MemAvailable:");
  std::uint64_t left = available == kNone ? kNone : available * 1024;
  for (const GroupFolder& folder : group_folders("memory", proc, groups)) {
    left = std::min(left, left_in(folder.path, folder.version_2 ? kVersion2 : kVersion1));
  }
  return left == kNone ? 0 : left;
}

}  // namespace tundish
