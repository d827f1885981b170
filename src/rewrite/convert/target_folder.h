// The folder of a target's files. Created if missing, and removed if nothing stays
// inside.
#pragma once

#include <string>

namespace tundish {

class TargetFolder {
 public:
  explicit TargetFolder(const std::string& path);  // also makes parents; throws Error
  ~TargetFolder();                                 // without keep(): removes a folder that it made
  TargetFolder(const TargetFolder&) = delete;
  TargetFolder& operator=(const TargetFolder&) = delete;

  void keep() { made_ = false; }

 private:
  const std::string path_;
  bool made_ = false;
};

}  // namespace tundish
