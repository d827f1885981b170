#include "data/pack/write/identity.h"

#include <fmt/format.h>

#include "base/version.h"
#include "data/pack/metadata.h"
#include "data/source/disk_cache/file_times.h"

namespace tundish {
namespace {

constexpr std::uint32_t kMaxParts = 100;

constexpr std::string_view kOption = "option ";  // prefix of every option's name

// Adds every option that changes the bytes of a pack, and no other option.
void add_options(PackIdentity& out, const PackOptions& options) {
  const auto add = [&](const char* name, const auto& value) {
    out.emplace_back(fmt::format("{}{}", kOption, name), fmt::format("{}", value));
  };
  add("codec", options.lanes ? "lanes" : "keep");
  add("tables", options.tables == LanesTables::automatic ? "auto"
                : options.tables == LanesTables::builtin ? "builtin"
                                                         : "train");
  add("max_growth", options.max_growth);
  add("strip_metadata", options.strip_metadata);
  add("max_bytes", options.limits.max_bytes);
  add("max_pixels", options.limits.max_pixels);
  add("preprocess", options.preprocessor ? options.preprocessor->options_json() : "none");
  add("copy_records", options.copy_records);
}

// Lists options from `first` on that differ: "codec=keep, was lanes; strip_metadata=true, ...".
std::string changed_options(const PackIdentity& before, const PackIdentity& now,
                            std::size_t first) {
  std::string out;
  for (std::size_t i = first; i < now.size() && now[i].first.starts_with(kOption); ++i) {
    if (i >= before.size() || before[i].first != now[i].first) break;
    if (before[i] == now[i]) continue;
    out += fmt::format("{}{}={}, was {}", out.empty() ? "" : "; ",
                       now[i].first.substr(kOption.size()), now[i].second, before[i].second);
  }
  return out;
}

}  // namespace

PackIdentity identity_of(const Source& source, const PackOptions& options) {
  PackIdentity out{{"the version of tundish", version()},
                   {"the choice of samples", options.choice},
                   {"the source", source.fingerprint()},
                   {"the schema of the source", schema_json(source.schema())},
                   {"the kind of the source", source.schema().source},
                   {"the content of the source's files", file_times(source)}};
  add_options(out, options);
  out.emplace_back("the shard", fmt::format("{} of {}", options.shard.number, options.shard.count));
  out.emplace_back("the shard size", std::to_string(options.shard_bytes));
  return out;
}

std::string first_difference(const PackIdentity& before, const PackIdentity& now) {
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (i < before.size() && before[i] == now[i]) continue;
    if (!now[i].first.starts_with(kOption)) return now[i].first + " has changed";
    const std::string options = changed_options(before, now, i);
    return options.empty() ? "the options have changed" : "options have changed: " + options;
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
