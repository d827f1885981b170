#include "cli/pack/collect_shards.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <optional>

#include "cli/arguments.h"
#include "data/source/formats/joined.h"

namespace tundish::cli {
namespace {

// Parses "train-00003-of-00012.tnd" as 3 of 12; empty for other names.
std::optional<std::pair<std::uint64_t, std::uint64_t>> numbers_of(const std::string& name) {
  const std::size_t of = name.rfind("-of-");
  if (of == std::string::npos || !name.ends_with(".tnd")) return std::nullopt;
  const std::size_t dash = of == 0 ? std::string::npos : name.rfind('-', of - 1);
  if (dash == std::string::npos) return std::nullopt;
  std::uint64_t number = 0, count = 0;
  const char* end = name.data() + of;
  const auto first = std::from_chars(name.data() + dash + 1, end, number);
  const char* last = name.data() + name.size() - 4;
  const auto second = std::from_chars(end + 4, last, count);
  if (first.ec != std::errc{} || first.ptr != end || second.ec != std::errc{} || second.ptr != last)
    return std::nullopt;
  return std::pair{number, count};
}

// Checks that shards numbered I of N are complete and in order.
void check_numbers(const std::vector<Shard>& shards) {
  const auto first = numbers_of(shards.front().name);
  if (!first) return;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const auto here = numbers_of(shards[i].name);
    if (!here || here->second != first->second || here->first != i) {
      throw UsageError(fmt::format("{} stands where shard {} of {} is expected",
                                   printable(shards[i].name), i, first->second));
    }
  }
  if (shards.size() != first->second) {
    throw UsageError(
        fmt::format("{} shards are given, their names say {}", shards.size(), first->second));
  }
}

}  // namespace

Manifest collect_shards(const std::string& manifest, const std::vector<std::string>& shards) {
  namespace fs = std::filesystem;
  const auto folder = [](const std::string& path) {
    const fs::path parent = fs::path(path).parent_path();
    return parent.empty() ? fs::path(".") : parent;
  };
  Manifest out;
  std::vector<std::shared_ptr<const Source>> packs;
  for (const std::string& path : shards) {
    const std::shared_ptr<const Pack> pack = Pack::open(path);
    std::error_code ignored;
    if (!fs::equivalent(folder(path), folder(manifest), ignored)) {
      throw UsageError(
          fmt::format("{} is not in the folder of {}", printable(path), printable(manifest)));
    }
    out.shards.push_back({fs::path(path).filename().string(), pack->count(), pack->file_bytes(),
                          pack->fingerprint()});
    packs.push_back(pack);
  }
  check_numbers(out.shards);
  join_sources(packs);  // throws if fields or classes differ
  Manifest again;
  if (const auto fault = parse_manifest(again, manifest_json(out))) {
    throw Error(*fault, {.file = manifest});  // a shard was given twice
  }
  return out;
}

Json manifest_report(const std::string& target, const Manifest& manifest) {
  Json out;
  std::uint64_t records = 0;
  out["output"] = json_text(target);
  out["shards"] = Json::array();
  for (const Shard& shard : manifest.shards) {
    records += shard.records;
    out["shards"].push_back({{"name", json_text(shard.name)},
                             {"records", shard.records},
                             {"bytes", shard.bytes},
                             {"id", shard.id}});
  }
  out["records"] = records;
  return out;
}

}  // namespace tundish::cli
