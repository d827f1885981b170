// When the files of a data set were changed.
#pragma once

#include <string>

#include "source/source.h"

namespace tundish {

// A source of several files implements it beside Source.
class FileTimes {
 public:
  virtual ~FileTimes() = default;
  virtual std::string file_times() const = 0;
};

// Changes when a file of the data set is written again, also where fingerprint() does not: with
// other bytes, as many, and with any modification time. A source without FileTimes is described by
// path(): the file, or all files below the folder at any depth. Folders that are links are not
// entered.
std::string file_times(const Source& source);

}  // namespace tundish
