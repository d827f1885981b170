// Where a file is to appear: its folder and name, and how a finished file gets that name. One
// thread.
#pragma once

#include <string>

#include "base/file.h"

namespace tundish {

class OutputTarget {
 public:
  // A link is followed, so that the file is replaced and not the link. Throws Error(output_exists)
  // when the target exists and replace is false, Error(argument) when it exists and is not a
  // regular file, and errors of the system.
  OutputTarget(const std::string& target, bool replace);

  const std::string& path() const { return path_; }
  const std::string& folder() const { return folder_; }  // ends with a slash, or is "."
  int folder_descriptor() const { return directory_.descriptor(); }

  // A hidden name beside the target: "." + name + "." + ending. Long names are shortened and get a
  // checksum of the whole name, so that two targets never share a hidden name.
  std::string hidden_name(const std::string& ending) const;
  std::string beside(const std::string& leaf) const {
    return folder_ == "." ? leaf : folder_ + leaf;
  }

  // Gives the file beside the target the target's name. Throws Error(output_exists) when the
  // target appeared meanwhile and replace is false.
  void take_over(const std::string& leaf) const;

  // Makes names in the folder durable. False, with errno, when it could not.
  bool sync_folder() const;

 private:
  std::string path_, folder_, name_;
  bool replace_;
  File directory_;
};

}  // namespace tundish
