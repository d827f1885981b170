// What one look at the machine gave: a figure, whether it is well, and the command that mends it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tundish {

enum class Level : std::uint8_t { ok = 0, warning = 1, problem = 2 };

constexpr const char* level_name(Level level) {
  constexpr const char* kNames[] = {"ok", "warning", "problem"};
  return kNames[static_cast<std::size_t>(level)];
}

struct Finding {
  std::string area{};  // "software", "gpu 0", "cpu", "memory", "storage"
  std::string name{};  // "quota"
  Level level = Level::ok;
  std::string figure{};  // one line: "4 of 64 CPUs"
  std::string reason{};  // what is wrong with it; empty when it is ok
  std::string fix{};     // a command, or what to change; empty when there is nothing to mend
  std::vector<std::pair<std::string, double>>
      values{};  // the figure for programs, with units in the names
};

using Findings = std::vector<Finding>;

}  // namespace tundish
