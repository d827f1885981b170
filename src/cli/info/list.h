// `tundish info --list`: the records of a dataset, one line each.
#pragma once

#include <cstdint>
#include <string>

#include "cli/shell.h"
#include "data/source/source.h"

namespace tundish::cli {

struct ListOptions {
  std::uint64_t from = 0;            // first record
  std::uint64_t count = UINT64_MAX;  // maximum number of records
};

// Prints number, codec, size in pixels, bytes, label and key of each record; with --json, an object
// per line. Reads the index and the keys, not the records. `file` names the dataset in the error
// after Ctrl-C. Throws Error.
void print_list(const Source& source, const std::string& file, const ListOptions& options,
                const Shell& shell);

}  // namespace tundish::cli
