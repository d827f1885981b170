// Writes a .tar archive for WebDataset: files of one sample share one name up to the first dot and
// are adjacent.
#pragma once

#include "rewrite/convert/target_writer.h"

namespace tundish {

// NAME.jpg is the image, NAME.cls the label's number, NAME.FIELD other fields; see
// rewrite/convert/sample_files.h. A name that has further dots, or that is already used, is
// changed: docs/pack.md.
std::unique_ptr<TargetWriter> make_tar_writer(const Conversion& conversion);

}  // namespace tundish
