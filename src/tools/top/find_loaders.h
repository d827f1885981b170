// Every loader of Tundish that runs on this machine and that this user may look at. Loaders are
// found by the memory that they publish (loader/monitor/publisher.h), which is seen through
// /proc/PID/fd.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/machine/roots.h"
#include "loader/monitor/loader_page.h"

namespace tundish {

struct RunningLoader {
  std::uint32_t process = 0;     // as this machine numbers it; in a container its own may differ
  std::uint32_t descriptor = 0;  // of that process
  std::string command{};         // the first words of its command line
  PublishedLoader figures{};
};

// Looks into the descriptors of every process. Processes that end meanwhile, or that belong to
// others, are passed over. Some milliseconds.
std::vector<RunningLoader> find_loaders(const SystemRoots& roots = {});

// Reads the figures of a loader that was found before; false when it is gone.
bool update_loader(RunningLoader& loader, const SystemRoots& roots = {});

}  // namespace tundish
