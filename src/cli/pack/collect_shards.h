// Combines separately created packs into the manifest of one dataset.
#pragma once

#include <string>
#include <vector>

#include "cli/json.h"
#include "data/pack/manifest.h"

namespace tundish::cli {

// Keeps the given order. Throws UsageError if a shard is not beside the manifest or if one of N
// shards is missing or repeated. Throws Error if the shards are incompatible.
Manifest collect_shards(const std::string& manifest, const std::vector<std::string>& shards);

Json manifest_report(const std::string& target, const Manifest& manifest);

}  // namespace tundish::cli
