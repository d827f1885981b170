// Labels the samples of a tar without .cls files by their folders.
#pragma once

#include <string>

#include "data/source/labels.h"
#include "data/source/string_table.h"

namespace tundish {

struct FolderLabels {
  Labels labels;        // without values if the samples have none
  std::string warning;  // empty: none
};

// The class is the first folder below the folders common to all keys. Requires at least one
// key.
FolderLabels label_by_folders(const StringTable& keys);

}  // namespace tundish
