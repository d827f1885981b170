// Converts any source to another format.
#pragma once

#include <functional>
#include <string>

#include "rewrite/convert/target_writer.h"

namespace tundish {

struct ConvertOptions {
  bool replace = false;
  std::uint64_t shards = 1;
  bool class_folders = true;  // false: a folder has the names of the source
  std::function<void(const ConvertReport& so_far)> progress = {};  // called after every sample
};

// Blocks until the target is durable. Lists a sample that cannot be read or written in
// report.refused and writes the others. Interruptible: base/interruption.h. Throws Error; then
// no new file has the target's name, except for files in a folder.
ConvertReport convert(const std::string& target, const TargetFormat& format, const Source& source,
                      const ConvertOptions& options);

}  // namespace tundish
