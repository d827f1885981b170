// A file that appears under its name complete or not at all: written to a temporary file beside
// the target, made durable, then renamed. One thread.
//
// The temporary file is .NAME.tmp.PID, locked while its writer lives; the kernel drops the lock
// with the process, so the next writer of the same target knows what is left over and removes it.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/file.h"
#include "data/pack/output_target.h"

namespace tundish {

class OutputFile {
 public:
  // Without commit the temporary file goes with this object.
  //
  // Throws Error(output_exists) when the target exists and replace is false, Error(argument) when
  // it exists and is not a regular file, and errors of the system.
  OutputFile(const std::string& target, bool replace);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // For a library that writes files by name.
  const std::string& temporary_path() const { return temporary_.path; }

  void write_at(Bytes bytes, std::uint64_t offset) { file_.write_at(bytes, offset); }

  // Cuts or fills the file to this size, makes it durable and visible. Throws; the target is then
  // as it was before, unless only the folder could not be made durable: then it is the new file.
  void commit(std::uint64_t bytes);

  // The same, but the file keeps its temporary name, which is returned: the caller gives it the
  // target's name (OutputTarget::take_over) or removes it. It is closed, so that many of them are
  // possible; and no longer locked: the next writer of the target removes it.
  std::string complete(std::uint64_t bytes);

 private:
  // A separate member, so that the file is removed also when the constructor throws.
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

}  // namespace tundish
