// A manifest, OUT.tnds: the list of the packs (shards) that are one data set together. JSON:
//
//   {"format":"tundish shards 1","records":24,"shards":[
//    {"bytes":4160,"id":"9f...","name":"train-00000.tnd","records":12},
//    {"bytes":4160,"id":"07...","name":"train-00001.tnd","records":12}]}
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/pack/format.h"
#include "data/pack/reader.h"

namespace tundish {

constexpr std::uint64_t kMaxManifestBytes = 64ull << 20;
constexpr std::string_view kManifestFormat = "tundish shards 1";

struct Shard {
  std::string name;  // of a file in the manifest's folder
  std::uint64_t records = 0, bytes = 0;
  std::string id;  // of the pack, hex
  bool operator==(const Shard&) const = default;
};

struct Manifest {
  std::vector<Shard> shards;
};

std::string manifest_json(const Manifest& manifest);

// manifest_damaged when it is not such JSON, lists no shard or one name twice, has a name that
// leaves the folder, or a sum that is not that of the shards. Unknown keys are passed over.
std::optional<Fault> parse_manifest(Manifest& out, std::string_view json);

Manifest read_manifest(const std::string& path);  // throws Error
// Complete or not at all, as packs. Throws Error.
void write_manifest(const std::string& path, const Manifest& manifest, bool replace);

// What a manifest says of this pack; reads its head and its tail only. Throws Error.
Shard describe_shard(const std::string& path);

// Every shard in order. Throws Error that names the shard which is missing, damaged, or not the
// one that the manifest lists (shard_differs).
std::vector<std::shared_ptr<const Pack>> open_shards(const std::string& manifest);

// All shards as one source.
std::shared_ptr<const Source> open_manifest(const std::string& path);

}  // namespace tundish
