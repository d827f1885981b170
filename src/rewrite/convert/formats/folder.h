// A folder of files, byte for byte: what `tundish unpack` writes.
#pragma once

#include "rewrite/convert/target_writer.h"

namespace tundish {

// Files appear one by one; those that exist with the same bytes are kept, so that an interrupted
// conversion can be repeated. A file with other bytes is replaced with conversion.replace only:
// otherwise add() throws Error(output_exists).
std::unique_ptr<TargetWriter> make_folder_writer(const Conversion& conversion);

}  // namespace tundish
