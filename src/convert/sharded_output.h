// One file, or several files that share the samples: shard s of n has the samples from
// count * s / n to count * (s + 1) / n. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "convert/output_stream.h"
#include "convert/target_writer.h"

namespace tundish {

class ShardedOutput {
 public:
  // `names` has one name per shard; none may exist unless conversion.replace, which is checked for
  // all of them first. `end` writes what closes a shard. Throws Error.
  ShardedOutput(const Conversion& conversion, std::vector<std::string> names,
                std::function<void(OutputStream& shard)> end);

  // Removes the shards that are complete, unless finish() was called.
  ~ShardedOutput();
  ShardedOutput(const ShardedOutput&) = delete;
  ShardedOutput& operator=(const ShardedOutput&) = delete;

  // The file of this sample; numbers ascend.
  OutputStream& of(std::uint64_t sample);

  // Completes the last shard and reports files and bytes.
  void finish();

 private:
  void next();
  void complete();

  ConvertReport& report_;
  const std::vector<std::string> names_;
  const std::function<void(OutputStream&)> end_;
  const bool replace_;
  const std::uint64_t count_;
  std::size_t completed_ = 0;
  bool finished_ = false;
  std::unique_ptr<OutputStream> stream_;
};

}  // namespace tundish
