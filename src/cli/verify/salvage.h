// `tundish verify --salvage OUT`: the intact records of a damaged pack, as a new pack.
#pragma once

#include <cstdint>
#include <string>

#include "cli/shell.h"

namespace tundish::cli {

struct SalvageArguments {
  std::string target;
  std::string like;           // a pack with the same fields, classes and tables; or empty
  std::uint64_t threads = 0;  // 0: as many as there are CPUs
  bool force = false;         // replace the target
};

// Copies every intact record of the pack `from`, or of an interrupted `tundish pack`, and prints
// what is lost. Returns kOk if nothing is lost, kDamaged if something is or if it is not known.
// Throws Error(nothing_salvaged) if no record is intact.
int salvage(const std::string& from, const SalvageArguments& arguments, const Shell& shell);

}  // namespace tundish::cli
