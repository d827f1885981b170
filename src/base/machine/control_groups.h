// The control groups of this process, including all ancestors: each may have its own limits.
#pragma once

#include <string>
#include <vector>

namespace tundish {

struct GroupFolder {
  std::string path;
  bool version_2;
};

// Returns the folders of one controller, "cpu" or "memory"; some may not exist. In a container the
// group's path may be the host's, of which only the root is visible.
std::vector<GroupFolder> group_folders(const std::string& controller, const std::string& proc,
                                       const std::string& groups);

}  // namespace tundish
