// When the files of a data set were changed.
#pragma once

#include <string>

#include "data/source/source.h"

namespace tundish {

// A source of several files implements it beside Source.
class FileTimes {
 public:
  virtual ~FileTimes() = default;
  virtual std::string file_times() const = 0;
  // Whether the file of sample i was not there when the source was opened. No time says which file
  // is there when it is read, so a cache does not keep it.
  virtual bool was_missing(std::uint64_t) const { return false; }
};

// Changes when a file of the data set is written again, also where fingerprint() does not: with
// other bytes, as many, and with any modification time. A source without FileTimes is described by
// path(): the file, or all files below the folder at any depth. Links to folders are
// followed. Throws Error when the file is missing.
std::string file_times(const Source& source);

// The same of a file, or of all files below a folder.
std::string stamp_below(const std::string& path);

bool was_missing(const Source& source, std::uint64_t i);

}  // namespace tundish
