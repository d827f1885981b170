// Names of the files of a dataset in several packs.
#pragma once

#include <fmt/format.h>

#include <string>

namespace tundish {

// "train.tnd" and "train.tnds" -> "train"
inline std::string shard_base(std::string target) {
  for (const char* ending : {".tnds", ".tnd"}) {
    if (target.ends_with(ending)) {
      target.resize(target.size() - std::string_view(ending).size());
      break;
    }
  }
  return target;
}

inline std::string manifest_name(const std::string& target) { return shard_base(target) + ".tnds"; }

// For --shard-size: the number of shards is known only at the end.
inline std::string shard_name(const std::string& target, std::uint64_t shard) {
  return fmt::format("{}-{:05}.tnd", shard_base(target), shard);
}

// For --shard I/N.
inline std::string shard_name(const std::string& target, std::uint64_t shard, std::uint64_t count) {
  return fmt::format("{}-{:05}-of-{:05}.tnd", shard_base(target), shard, count);
}

}  // namespace tundish
