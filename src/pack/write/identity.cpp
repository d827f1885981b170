#include "pack/write/identity.h"

#include <fmt/format.h>

#include "core/version.h"
#include "pack/metadata.h"

namespace tundish {
namespace {

constexpr std::uint32_t kMaxParts = 100;

// Every option that changes the bytes of a pack, and no other.
std::string options_text(const PackOptions& options) {
  const char* tables = options.tables == LanesTables::automatic ? "auto"
                       : options.tables == LanesTables::builtin ? "builtin"
                                                                : "train";
  return fmt::format(
      "codec={} tables={} max_growth={} strip_metadata={} limits={}/{} preprocess={} copy={}",
      options.lanes ? "lanes" : "keep", tables, options.max_growth, options.strip_metadata,
      options.limits.max_bytes, options.limits.max_pixels,
      options.preprocessor ? options.preprocessor->options_json() : "none", options.copy_records);
}

}  // namespace

PackIdentity identity_of(const Source& source, const PackOptions& options) {
  return {{"the version of tundish", version()},
          {"the choice of samples", options.choice},
          {"the source", source.fingerprint()},
          {"the schema of the source", schema_json(source.schema())},
          {"the kind of the source", source.schema().source},
          {"the options", options_text(options)},
          {"the shard", fmt::format("{} of {}", options.shard.number, options.shard.count)},
          {"the shard size", std::to_string(options.shard_bytes)}};
}

std::string first_difference(const PackIdentity& before, const PackIdentity& now) {
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (i < before.size() && before[i] == now[i]) continue;
    if (now[i].first != "the options" || i >= before.size()) return now[i].first + " has changed";
    return fmt::format("the options have changed from {} to {}", before[i].second, now[i].second);
  }
  return before.size() == now.size() ? "" : "the version of tundish has changed";
}

void encode_identity(WireWriter& out, const PackIdentity& identity) {
  out.word(static_cast<std::uint32_t>(identity.size()));
  for (const auto& [name, value] : identity) {
    out.text(name);
    out.text(value);
  }
}

std::optional<PackIdentity> decode_identity(WireReader& in) {
  const auto parts = in.word<std::uint32_t>();
  if (parts > kMaxParts) return std::nullopt;
  PackIdentity out;
  for (std::uint32_t i = 0; i < parts && !in.failed(); ++i) {
    std::string name = in.text();
    out.emplace_back(std::move(name), in.text());
  }
  if (in.failed()) return std::nullopt;
  return out;
}

}  // namespace tundish
