// `tundish verify --salvage OUT`: copies the intact records of a damaged pack into a new pack.
#pragma once

#include <cstdint>
#include <string>

#include "cli/shell.h"

namespace tundish::cli {

struct SalvageArguments {
  std::string target;
  std::string like;           // optional pack with the same fields, classes and tables
  std::uint64_t threads = 0;  // 0: one per CPU
  bool force = false;         // replace the target
};

// Copies every intact record of the pack `from`, or of an interrupted `tundish pack`, and prints
// the losses. Returns kOk if nothing is lost, kDamaged if records are lost or that is unknown.
// Throws Error(nothing_salvaged) if no record is intact.
int salvage(const std::string& from, const SalvageArguments& arguments, const Shell& shell);

}  // namespace tundish::cli
