// `tundish unpack --record N`: one field of one record.
#pragma once

#include <cstdint>
#include <string>

#include "cli/shell.h"
#include "data/source/source.h"

namespace tundish::cli {

struct RecordOptions {
  std::uint64_t record = 0;
  std::string field;   // empty: the image, else the first field with bytes
  std::string target;  // a file; empty: stdout
  bool replace = false;
};

// Writes the bytes of a field, which are checked against their checksum first. With --json it
// prints what the record holds; the bytes are then written only if there is a `target`. Throws
// UsageError and Error.
void write_record(const Source& source, const RecordOptions& options, const Shell& shell);

}  // namespace tundish::cli
