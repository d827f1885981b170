// Writing a pack from the program: checks before, progress and messages meanwhile.
#pragma once

#include <string>

#include "cli/json.h"
#include "cli/shell.h"
#include "data/pack/write/writer.h"

namespace tundish::cli {

// Throws Error(source_empty) when samples have labels and nothing else: the pack could not be
// trained from.
void check_fields(const Source& source);

// Before a long listing of the source, not after it: UsageError for a folder, Error(output_exists)
// for a file unless `force`.
void check_target(const std::string& target, bool force);

// What an earlier, interrupted pack of the target is worth: a message or a warning.
std::function<void(const Resumption&)> resumption_message(const std::string& target,
                                                          const Source& source, const Shell& shell);

// pack() that shows its progress and ends by Ctrl-C; `word` is the first of the line.
PackReport write_pack(const std::string& target, const Source& source, PackOptions options,
                      const char* word, const Shell& shell);

// {samples, copied, file_bytes, id, refused, doubtful}
void put_pack(Json& into, const PackReport& report);

}  // namespace tundish::cli
