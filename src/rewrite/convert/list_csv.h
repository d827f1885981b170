// The list of a folder's files: labels and columns that do not follow from names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rewrite/convert/target_writer.h"

namespace tundish {

// Whether such a list is needed in any case. That of an image folder with classes may be.
bool needs_list(const Schema& schema);

// The rows of such a list. Labels of classes are in two columns, "label" with the name and
// "label:number"; a class that no sample names has a row without a path
// (data/source/formats/file_list.h reads it).
class ListText {
 public:
  explicit ListText(const Schema& schema);

  // `name`: of the sample's image in the folder.
  void add(const ConvertSample& sample, const std::string& name);

  // Whether reading the folder without the list gives the same labels and classes.
  bool follows_from_folders() const;

  std::string text() const;

 private:
  void add_label(std::string& row, std::int64_t label) const;

  const Schema& schema_;
  const bool numbered_;  // labels have classes
  std::string rows_;
  std::vector<bool> named_;  // classes of samples
  bool in_folders_ = true;   // every sample is in the folder of its class
};

}  // namespace tundish
