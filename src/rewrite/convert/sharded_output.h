// One file, or several files that divide the samples: shard s of n holds the samples from
// count * s / n to count * (s + 1) / n. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rewrite/convert/completed_files.h"
#include "rewrite/convert/output_stream.h"
#include "rewrite/convert/target_writer.h"

namespace tundish {

class ShardedOutput {
 public:
  // `names`: one name per shard. Checks first that none exists, unless conversion.replace is set.
  // `end` writes the end of a shard. Throws Error.
  ShardedOutput(const Conversion& conversion, std::vector<std::string> names,
                std::function<void(OutputStream& shard)> end);

  // Without finish(), no shard appears, and existing files are unchanged.

  // Returns the file of this sample; numbers must ascend.
  OutputStream& of(std::uint64_t sample);

  // Completes the last shard, renames all shards, and reports files and bytes.
  void finish();

 private:
  void next();
  void complete();

  ConvertReport& report_;
  const std::vector<std::string> names_;
  const std::function<void(OutputStream&)> end_;
  const bool replace_;
  const std::uint64_t count_;
  CompletedFiles completed_;
  std::unique_ptr<OutputStream> stream_;
};

}  // namespace tundish
