// Any bytes as a manifest: shards in the manifest's folder, or a fault. A valid manifest keeps its
// meaning when written back.
// parser: src/data/pack/manifest.*
#include "data/pack/manifest.h"

#include <cstdlib>
#include <string_view>

#include "memory_meter.h"

namespace {

void require(bool claim) {
  if (!claim) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tundish;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const MemoryMeter meter((1 << 20) + 64 * size);
  Manifest manifest;
  if (const auto fault = parse_manifest(manifest, text)) {
    require(!fault->reason.empty());
    return 0;
  }
  require(!manifest.shards.empty());
  for (const Shard& shard : manifest.shards) {
    require(!shard.name.empty() && shard.name.find('/') == std::string::npos && shard.name != "..");
  }
  for (Shard& shard : manifest.shards) shard.id = "00";  // any text, trusted by manifest_json()
  Manifest again;
  require(!parse_manifest(again, manifest_json(manifest)));
  require(again.shards == manifest.shards);
  return 0;
}
