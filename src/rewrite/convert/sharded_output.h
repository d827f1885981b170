// One file, or several files that share the samples: shard s of n has the samples from
// count * s / n to count * (s + 1) / n. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rewrite/convert/output_stream.h"
#include "rewrite/convert/target_writer.h"

namespace tundish {

class ShardedOutput {
 public:
  // `names` has one name per shard; none may exist unless conversion.replace, which is checked for
  // all of them first. `end` writes what closes a shard. Throws Error.
  ShardedOutput(const Conversion& conversion, std::vector<std::string> names,
                std::function<void(OutputStream& shard)> end);

  // Without finish() no shard appears, and those that exist stay as they are.
  ~ShardedOutput();
  ShardedOutput(const ShardedOutput&) = delete;
  ShardedOutput& operator=(const ShardedOutput&) = delete;

  // The file of this sample; numbers ascend.
  OutputStream& of(std::uint64_t sample);

  // Completes the last shard, gives all of them their names, and reports files and bytes. Names are
  // given one after the other: a machine that stops between them leaves some shards of the old set.
  void finish();

 private:
  void next();
  void complete();

  ConvertReport& report_;
  const std::vector<std::string> names_;
  const std::function<void(OutputStream&)> end_;
  const bool replace_;
  const std::uint64_t count_;
  std::vector<std::string> temporary_;  // hidden names of the shards that are complete
  std::size_t named_ = 0;               // of these, how many have their name
  std::unique_ptr<OutputStream> stream_;
};

}  // namespace tundish
