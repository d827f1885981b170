// The list of a folder: labels and columns that cannot be derived from names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rewrite/convert/target_writer.h"

namespace tundish {

// Returns true if a list is always needed. An image folder with classes may also need a list.
bool needs_list(const Schema& schema);

// Builds the rows of a list. A class label has two columns, "label" with the name and
// "label:number". A class without samples has a row without a path
// (data/source/formats/file_list.h reads the list).
class ListText {
 public:
  explicit ListText(const Schema& schema);

  // `name`: name of the sample's image in the folder.
  void add(const ConvertSample& sample, const std::string& name);

  // Returns whether the folder has the same labels and classes if it is read without the list.
  bool follows_from_folders() const;

  std::string text() const;

 private:
  void add_label(std::string& row, std::int64_t label) const;

  const Schema& schema_;
  const bool numbered_;  // true if labels have classes
  std::string rows_;
  std::vector<bool> named_;  // classes that have samples
  bool in_folders_ = true;   // every sample is in its class's folder
};

}  // namespace tundish
