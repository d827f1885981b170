// `tundish view --state STATE`: repeats the batch that followed a saved state.
#pragma once

#include <cstdint>
#include <string>

#include "cli/shell.h"
#include "cli/source_arguments.h"

namespace tundish::cli {

struct ReplayArguments {
  SourceArguments about;
  std::string file, state_file;
  std::string target;        // the sheet, a PNG; empty: no sheet
  std::uint64_t rank = 0;    // whose batch to repeat
  std::uint64_t images = 0;  // number of next images over all ranks; 0: the batch of `rank`
  bool force = false;        // replace the sheet
};

// Repeats the batch, prints what was done to each image, and draws the sheet. Throws
// UsageError, and Error(wrong_state) that names the state's file.
void print_replay(const ReplayArguments& arguments, const Shell& shell);

}  // namespace tundish::cli
