// The folder and name of a file to create, and the rename of a finished file to that name. One
// thread.
#pragma once

#include <string>

#include "base/file.h"

namespace tundish {

class OutputTarget {
 public:
  // Follows a link, so that the linked file is replaced and not the link. Throws
  // Error(output_exists) if the target exists and replace is false, Error(argument) if it exists
  // and is not a regular file, and system errors.
  OutputTarget(const std::string& target, bool replace);

  const std::string& path() const { return path_; }
  const std::string& folder() const { return folder_; }  // ends with a slash, or is "."
  int folder_descriptor() const { return directory_.descriptor(); }

  // Returns a hidden name beside the target: "." + name + "." + ending. Shortens long names and
  // adds a checksum of the whole name, so that two targets never share a hidden name.
  std::string hidden_name(const std::string& ending) const;
  std::string beside(const std::string& leaf) const {
    return folder_ == "." ? leaf : folder_ + leaf;
  }

  // Renames the file `leaf` beside the target to the target. Throws Error(output_exists) if the
  // target has appeared meanwhile and replace is false.
  void take_over(const std::string& leaf) const;

  // Makes names in the folder durable. Returns false and sets errno on failure.
  bool sync_folder() const;

 private:
  std::string path_, folder_, name_;
  bool replace_;
  File directory_;
};

}  // namespace tundish
