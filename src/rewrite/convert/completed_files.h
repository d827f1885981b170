// Complete files that wait until all files of a target are complete. One thread.
#pragma once

#include <string>
#include <vector>

#include "rewrite/convert/output_stream.h"

namespace tundish {

class CompletedFiles {
 public:
  explicit CompletedFiles(bool replace) : replace_(replace) {}

  // Removes files that were not published; existing files of their names are unchanged.
  ~CompletedFiles();
  CompletedFiles(const CompletedFiles&) = delete;
  CompletedFiles& operator=(const CompletedFiles&) = delete;

  std::size_t size() const { return files_.size(); }

  // Completes the stream of the file `name`. Throws Error.
  void add(const std::string& name, OutputStream& stream);

  // Renames all files, which are in one folder. Renames are not atomic together: after a crash
  // between two of them, some old files remain. Throws Error.
  void publish();

 private:
  struct File {
    std::string name, temporary;
  };

  const bool replace_;
  std::vector<File> files_;
  std::size_t published_ = 0;
};

}  // namespace tundish
