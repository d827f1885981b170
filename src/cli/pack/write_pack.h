// Writes a pack from the program: checks first, then progress and messages.
#pragma once

#include <string>

#include "cli/json.h"
#include "cli/shell.h"
#include "data/pack/write/writer.h"

namespace tundish::cli {

// Throws Error(source_empty) if samples have labels and nothing else: such a pack could not be used
// for training.
void check_fields(const Source& source);

// Call before the source is listed, which may take long. Throws UsageError for a folder, and
// Error(output_exists) for a file unless `force`.
void check_target(const std::string& target, bool force);

// Returns a callback that reports how much of an earlier, interrupted pack can be reused.
std::function<void(const Resumption&)> resumption_message(const std::string& target,
                                                          const Source& source, const Shell& shell);

// Runs pack() with a progress line and Ctrl-C handling; `word` starts the line.
PackReport write_pack(const std::string& target, const Source& source, PackOptions options,
                      const char* word, const Shell& shell);

// Adds {samples, copied, file_bytes, id, refused, doubtful}.
void put_pack(Json& into, const PackReport& report);

}  // namespace tundish::cli
