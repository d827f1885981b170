// `tundish unpack --record N`: one field of one record.
#pragma once

#include <cstdint>
#include <string>

#include "cli/shell.h"
#include "data/source/source.h"

namespace tundish::cli {

struct RecordOptions {
  std::uint64_t record = 0;
  std::string field;   // empty: the image, otherwise the first field with bytes
  std::string target;  // file name; empty: stdout
  bool replace = false;
};

// Writes the bytes of a field after verifying their checksum. With --json, prints the contents of
// the record and writes the bytes only if there is a `target`. Throws
// UsageError and Error.
void write_record(const Source& source, const RecordOptions& options, const Shell& shell);

}  // namespace tundish::cli
