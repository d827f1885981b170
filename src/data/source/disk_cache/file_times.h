// Detects changes of the files of a dataset.
#pragma once

#include <string>

#include "data/source/source.h"

namespace tundish {

// Implemented, besides Source, by a source of several files.
class FileTimes {
 public:
  virtual ~FileTimes() = default;
  virtual std::string file_times() const = 0;
  // Returns true if the file of sample i was missing when the source was opened. A cache skips such
  // a sample, because no recorded time identifies the file that a later read finds.
  virtual bool was_missing(std::uint64_t) const { return false; }
};

// Changes when a file of the dataset is rewritten, even where fingerprint() does not: if the new
// file has the same size and any modification time. A source without FileTimes is described by
// path(): the file, or all files below the folder at any depth. Links to folders are
// followed. Throws Error if the file is missing.
std::string file_times(const Source& source);

// Returns the same text for a file, or for all files below a folder.
std::string stamp_below(const std::string& path);

bool was_missing(const Source& source, std::uint64_t i);

}  // namespace tundish
