// Writes files below one folder and never outside it, even if a name tries to escape.
//
// Names are processed part by part: absolute names, empty parts, "." and ".." are refused, and
// links are not followed. A file appears completely, by renaming a temporary file in the same
// folder. An existing file with the same bytes is kept, so that an interrupted run can be repeated.
// A killed run leaves at most one temporary file, which the next run removes.
// One thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/error.h"
#include "base/file.h"

namespace tundish {

// Returns the reason why a name is invalid for a file below a folder; empty if it is valid.
std::optional<Fault> check_name(std::string_view name);

class OutputFolder {
 public:
  // Makes missing folders, including parents. Throws Error.
  OutputFolder(const std::string& path, bool replace);

  // Returns true if written, false if the file existed with these bytes. Throws Error: name_unsafe
  // (invalid name, a file in place of a folder, or a folder in place of the file),
  // output_exists (the file has other bytes and replace is false), disk_full, ...
  bool write(const std::string& name, Bytes bytes);

  // Blocks until all files are durable.
  void sync();

 private:
  void enter(std::string_view folder);  // sets current_ to the folder of that name
  bool holds(const std::string& leaf, Bytes bytes) const;
  [[noreturn]] void fail(const std::string& name, const char* doing) const;

  const std::string path_;
  const bool replace_;
  const std::string temporary_;  // name of the temporary file in every folder
  File root_;
  File current_;
  std::string current_name_;
};

}  // namespace tundish
