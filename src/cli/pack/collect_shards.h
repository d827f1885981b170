// Packs that were made one by one, as the manifest of one data set.
#pragma once

#include <string>
#include <vector>

#include "cli/json.h"
#include "data/pack/manifest.h"

namespace tundish::cli {

// In the order given. Throws UsageError when a shard is not beside the manifest, when one of N is
// missing or comes twice, and Error when they do not fit together.
Manifest collect_shards(const std::string& manifest, const std::vector<std::string>& shards);

Json manifest_report(const std::string& target, const Manifest& manifest);

}  // namespace tundish::cli
