// The control groups that this process is in, and all above them: each may have limits of its own.
#pragma once

#include <string>
#include <vector>

namespace tundish {

struct GroupFolder {
  std::string path;
  bool version_2;
};

// Of one controller, "cpu" or "memory"; some of the folders may not exist. In a container the path
// of a group may be the host's, of which only the root is to be seen.
std::vector<GroupFolder> group_folders(const std::string& controller, const std::string& proc,
                                       const std::string& groups);

}  // namespace tundish
