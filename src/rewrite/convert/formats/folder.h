// Writes a folder of files, byte for byte: the target of `tundish unpack`.
#pragma once

#include "rewrite/convert/target_writer.h"

namespace tundish {

// Files appear one by one. Existing files with the same bytes are kept, so that an interrupted
// conversion can be repeated. A file with other bytes is replaced only with conversion.replace;
// otherwise add() throws Error(output_exists).
std::unique_ptr<TargetWriter> make_folder_writer(const Conversion& conversion);

}  // namespace tundish
