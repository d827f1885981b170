// Names of fields as names of files or data sets.
#pragma once

#include <string>
#include <vector>

#include "data/source/source.h"

namespace tundish {

// By field number: letters that a file's name cannot have become "_", and no two are equal. The
// image is "image", the label is "label".
std::vector<std::string> field_file_names(const Schema& schema);

}  // namespace tundish
