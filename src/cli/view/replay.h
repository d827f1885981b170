// `tundish view --state STATE`: the batch that came after a saved state.
#pragma once

#include <cstdint>
#include <string>

#include "cli/shell.h"
#include "cli/source_words.h"

namespace tundish::cli {

struct ReplayArguments {
  SourceWords about;
  std::string file, state_file;
  std::string target;        // the sheet, a PNG; empty: none
  std::uint64_t rank = 0;    // whose batch
  std::uint64_t images = 0;  // the next images of all ranks together; 0: the batch of `rank`
  bool force = false;        // replace the sheet
};

// Makes the batch again, prints what was done to each image, and draws the sheet. Throws
// UsageError, and Error(wrong_state) that names the state's file.
void print_replay(const ReplayArguments& arguments, const Shell& shell);

}  // namespace tundish::cli
