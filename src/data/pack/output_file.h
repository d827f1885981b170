// A file that appears under its name completely or not at all: written to a temporary file beside
// the target, made durable, then renamed. One thread.
//
// The temporary file is .NAME.tmp.PID, locked while its writer runs. The kernel drops the lock
// with the process, so the next writer of the same target detects and removes leftover files.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/file.h"
#include "data/pack/output_target.h"

namespace tundish {

class OutputFile {
 public:
  // Without commit, the destructor removes the temporary file.
  //
  // Throws Error(output_exists) if the target exists and replace is false, Error(argument) if it
  // exists and is not a regular file, and system errors.
  OutputFile(const std::string& target, bool replace);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // Path for a library that writes files by name.
  const std::string& temporary_path() const { return temporary_.path; }

  void write_at(Bytes bytes, std::uint64_t offset) { file_.write_at(bytes, offset); }

  // Sets the file's size, makes it durable and renames it to the target. If this throws, the target
  // is unchanged, unless only the sync of the folder failed: then the target is the new file.
  void commit(std::uint64_t bytes);

  // Like commit(), but keeps and returns the temporary name. The caller renames the file to the
  // target (OutputTarget::take_over) or removes it. The file is closed, so that many can wait, and
  // no longer locked: the next writer of the target removes it.
  std::string complete(std::uint64_t bytes);

 private:
  // A separate member, so that the file is also removed when the constructor throws.
  struct Temporary {
    std::string leaf, path;  // empty: no file
    ~Temporary();
  };

  void create();
  void make_durable(std::uint64_t bytes);

  OutputTarget target_;
  Temporary temporary_;
  File file_;
};

// Writes a whole file at once. Throws like OutputFile.
void write_file(const std::string& target, bool replace, Bytes bytes);

}  // namespace tundish
