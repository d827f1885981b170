// The result of one check of the machine: a figure, its level, and the command that fixes it.
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
  std::string reason{};  // what is wrong; empty if ok
  std::string fix{};     // a command, or what to change; empty if ok
  std::vector<std::pair<std::string, double>>
      values{};  // the figure for programs; names include units
};

using Findings = std::vector<Finding>;

}  // namespace tundish
