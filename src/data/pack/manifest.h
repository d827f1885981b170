// A manifest, OUT.tnds: lists the packs (shards) that form one dataset. JSON:
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
  std::string name;  // file name in the manifest's folder
  std::uint64_t records = 0, bytes = 0;
  std::string id;  // id of the pack, hex
  bool operator==(const Shard&) const = default;
};

struct Manifest {
  std::vector<Shard> shards;
};

std::string manifest_json(const Manifest& manifest);

// Returns manifest_damaged if the text is not such JSON, lists no shard or a name twice, has a name
// that leaves the folder, or a total that differs from the shards. Ignores unknown keys.
std::optional<Fault> parse_manifest(Manifest& out, std::string_view json);

Manifest read_manifest(const std::string& path);  // throws Error
// Writes the file completely or not at all, as packs are. Throws Error.
void write_manifest(const std::string& path, const Manifest& manifest, bool replace);

// Returns a pack's entry for a manifest; reads only its head and tail. Throws Error.
Shard describe_shard(const std::string& path);

// Opens every shard in order. Throws Error that names the shard if it is missing or damaged, or if
// it differs from the manifest (shard_differs).
std::vector<std::shared_ptr<const Pack>> open_shards(const std::string& manifest);

// Opens all shards as one source.
std::shared_ptr<const Source> open_manifest(const std::string& path);

}  // namespace tundish
