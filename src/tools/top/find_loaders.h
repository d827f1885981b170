// Every Tundish loader that runs on this machine and that this user may inspect. Loaders are found
// by the memory that they publish (loader/monitor/publisher.h), which is visible in
// /proc/PID/fd.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/machine/roots.h"
#include "loader/monitor/loader_page.h"

namespace tundish {

struct RunningLoader {
  std::uint32_t process = 0;     // the host's process number; a container may use another one
  std::uint32_t descriptor = 0;  // descriptor number in that process
  std::string command{};         // the first words of the command line
  PublishedLoader figures{};
};

// Inspects the descriptors of every process. Skips processes that end meanwhile or belong to other
// users. Takes milliseconds.
std::vector<RunningLoader> find_loaders(const SystemRoots& roots = {});

// Reads the current figures of a loader found before. Returns false if the loader has ended.
bool update_loader(RunningLoader& loader, const SystemRoots& roots = {});

}  // namespace tundish
