// A .tar archive as WebDataset reads it: files of one sample have one name up to the first dot and
// are next to each other.
#pragma once

#include "rewrite/convert/target_writer.h"

namespace tundish {

// NAME.jpg the image, NAME.cls the number of the label, NAME.FIELD others;
// rewrite/convert/sample_files.h. A name that has further dots, or that another sample has, is
// changed: docs/edit-packs.md.
std::unique_ptr<TargetWriter> make_tar_writer(const Conversion& conversion);

}  // namespace tundish
