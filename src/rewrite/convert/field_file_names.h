// Converts names of fields to names of files or datasets.
#pragma once

#include <string>
#include <vector>

#include "data/source/source.h"

namespace tundish {

// By field number. Characters that a file name cannot contain become "_", and names are distinct.
// The image is "image", the label is "label".
std::vector<std::string> field_file_names(const Schema& schema);

}  // namespace tundish
