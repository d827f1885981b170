// What programs see that read all images of a written folder, such as torchvision's ImageFolder.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

namespace tundish {

// Counts written files whose names make such programs see other samples, and finds images that were
// in the folder before.
class SeenInFolder {
 public:
  explicit SeenInFolder(std::string folder);  // before the first file is written

  // `is_sample`: the file is the image of a sample, and not another field.
  void add(const std::string& name, bool is_sample);

  // Returns true if only a list says which images are samples.
  bool needs_list() const { return others_.count > 0; }

  // Returns what such programs would read wrongly. `list`: name of the folder's list, or empty.
  // `labeled`: the folders are the classes.
  std::vector<std::string> warnings(const std::string& list, bool labeled) const;

 private:
  struct Names {
    std::uint64_t count = 0;
    std::string first = {};
    void add(const std::string& name) {
      if (count++ == 0) first = name;
    }
  };

  std::string find_foreign(const std::string& below) const;

  const std::string folder_;
  bool was_used_ = false;                      // it had entries before
  std::unordered_set<std::uint64_t> written_;  // hashes of names, only if was_used_
  Names others_, unlike_;
};

}  // namespace tundish
