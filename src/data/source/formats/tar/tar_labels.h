// Labels of the samples of a tar that has no .cls files: by their folders.
#pragma once

#include <string>

#include "data/source/labels.h"
#include "data/source/string_table.h"

namespace tundish {

struct FolderLabels {
  Labels labels;        // without values when the samples have none
  std::string warning;  // empty: none
};

// The first folder is the class, below the folders that all keys have in common. Keys: at least
// one.
FolderLabels label_by_folders(const StringTable& keys);

}  // namespace tundish
