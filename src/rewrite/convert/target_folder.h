// A folder that a target's files are in. Made when missing, and removed again when nothing stays in
// it.
#pragma once

#include <string>

namespace tundish {

class TargetFolder {
 public:
  explicit TargetFolder(const std::string& path);  // makes those above it too; throws Error
  ~TargetFolder();                                 // without keep(): removes it if it made it
  TargetFolder(const TargetFolder&) = delete;
  TargetFolder& operator=(const TargetFolder&) = delete;

  void keep() { made_ = false; }

 private:
  const std::string path_;
  bool made_ = false;
};

}  // namespace tundish
