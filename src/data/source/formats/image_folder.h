// FOLDER/CLASS/NAME.jpg: torchvision's ImageFolder, with the same order and labels.
//
// Classes are the direct sub-folders, sorted as Python sorts them; label = index in that list.
// Inside a class, folders are walked and links followed. Order is by folder path, then by name.
// Files without an image ending are omitted. A folder that directly holds images, with none in
// sub-folders, is a source without labels. Differences from torchvision: .npy files count as
// images, a class may be empty, a folder that cannot be listed is an error, and a link that leads
// back to a folder containing it is not followed.
#pragma once

#include <memory>
#include <string>

#include "data/source/source.h"

namespace tundish {

// Lists all files and gets the size of every file; reads none. Throws Error.
std::shared_ptr<const Source> open_image_folder(const std::string& path);

}  // namespace tundish
