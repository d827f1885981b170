// Writes files below one folder and never outside it, whatever their names are.
//
// A name is taken piece by piece: absolute names, empty pieces, "." and ".." are refused, links on
// the way are not followed. A file appears complete, by rename from a temporary file beside it;
// a file that already exists with the same bytes is left alone, so that an interrupted run can be
// repeated. A killed run leaves at most one temporary file, which the next one removes.
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

// Why a name cannot be that of a file below a folder; empty when it can.
std::optional<Fault> check_name(std::string_view name);

class OutputFolder {
 public:
  // Makes the folder, and those above it, when missing. Throws Error.
  OutputFolder(const std::string& path, bool replace);

  // True when written, false when the file existed with the same bytes. Throws Error: name_unsafe
  // (of the name, or a file is where a folder is needed, or a folder where the file is),
  // output_exists (the file has other bytes, and not replace), disk_full, ...
  bool write(const std::string& name, Bytes bytes);

  // Blocks until everything is on the disk.
  void sync();

 private:
  void enter(std::string_view folder);  // makes current_ the folder of that name
  bool holds(const std::string& leaf, Bytes bytes) const;
  [[noreturn]] void fail(const std::string& name, const char* doing) const;

  const std::string path_;
  const bool replace_;
  const std::string temporary_;  // its name in every folder
  File root_;
  File current_;
  std::string current_name_;
};

}  // namespace tundish
