// FOLDER/CLASS/NAME.jpg: torchvision's ImageFolder, in its order and with its labels.
//
// Classes are the direct sub-folders, sorted as Python sorts them; label = place in that list.
// Inside a class, folders are walked and links followed; order is by folder path, then by name.
// Files whose names have no image ending are left out. A folder that holds images directly and
// none in sub-folders gives a source without labels. Differences from torchvision: .npy files
// count as images, a class may be empty, a folder that cannot be listed is an error, and a link
// that leads back to a folder it is in is not followed.
#pragma once

#include <memory>
#include <string>

#include "data/source/source.h"

namespace tundish {

// Lists everything and asks for the size of every file; reads none. Throws Error.
std::shared_ptr<const Source> open_image_folder(const std::string& path);

}  // namespace tundish
