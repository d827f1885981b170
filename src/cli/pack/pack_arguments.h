// The words after `tundish pack`.
#pragma once

#include <cstdint>
#include <string>

#include "cli/source_words.h"
#include "pack/write/writer.h"

namespace tundish::cli {

struct PackArguments {
  std::string from, target;
  SourceWords about;
  bool force = false, skip_bad = false, dry_run = false, strip = false;
  std::uint64_t threads = 0;
  double max_growth = 1.10;
  std::string codec = "lanes", tables = "auto", progress = "auto";
};

// False when only help was asked for. Throws UsageError.
bool parse(PackArguments& out, const Words& words, Shell& shell);

// Without progress and stop.
PackOptions pack_options(const PackArguments& arguments);

}  // namespace tundish::cli
