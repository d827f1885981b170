// Any source into another format.
#pragma once

#include <functional>
#include <string>

#include "rewrite/convert/target_writer.h"

namespace tundish {

struct ConvertOptions {
  bool replace = false;
  std::uint64_t shards = 1;
  std::function<void(const ConvertReport& so_far)> progress = {};  // called after every sample
};

// Blocks until the target is durable. A sample that cannot be read or written is in report.refused
// and the others are written. Interruptible: base/interruption.h. Throws Error; then nothing
// has the target's name that was not there before, except for files in a folder.
ConvertReport convert(const std::string& target, const TargetFormat& format, const Source& source,
                      const ConvertOptions& options);

}  // namespace tundish
