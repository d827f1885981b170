// Folders of the system's files. Tests use other folders.
#pragma once

#include <string>

namespace tundish {

struct SystemRoots {
  std::string proc = "/proc";
  std::string sys = "/sys";
  std::string groups = "/sys/fs/cgroup";
  std::string dev = "/dev";
};

}  // namespace tundish
