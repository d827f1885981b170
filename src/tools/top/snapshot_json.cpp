#include "tools/top/snapshot_json.h"

#include <chrono>

#include "base/error.h"

namespace tundish {
namespace {

using Json = nlohmann::ordered_json;

template <class Value>
Json known(const std::optional<Value>& value) {
  return value ? Json(*value) : Json();
}

template <class Value>
Json known(Value value) {  // 0: unknown
  return value > 0 ? Json(value) : Json();
}

Json gpu_json(const Gpu& gpu) {
  return {{"number", gpu.number},
          {"name", printable(gpu.name)},
          {"busy_percent", known(gpu.busy)},
          {"memory_busy_percent", known(gpu.memory_busy)},
          {"memory_used", known(gpu.memory_used)},
          {"memory_total", known(gpu.memory_total)},
          {"power_watts", gpu.power ? Json(*gpu.power / 1000.0) : Json()},
          {"power_limit_watts", gpu.power_limit ? Json(*gpu.power_limit / 1000.0) : Json()},
          {"sm_mhz", known(gpu.sm_clock)},
          {"max_sm_mhz", known(gpu.max_sm_clock)},
          {"celsius", known(gpu.temperature)},
          {"slowdown_bits", known(gpu.slowdown)}};
}

Json loader_json(const LoaderRate& rate) {
  const RunningLoader& loader = rate.loader;
  const LoaderProgress& progress = loader.figures.progress;
  Json out = {{"process", loader.process},
              {"command", printable(loader.command)},
              {"source", printable(loader.figures.source)},
              {"rank", progress.rank},
              {"world_size", progress.world_size},
              {"epoch", progress.epoch},
              {"position", progress.position},
              {"epoch_samples", known(progress.epoch_samples)},
              {"batch_size", progress.batch_size},
              {"gpu_decodes", progress.gpu_decodes != 0},
              {"age_s", rate.age_s},
              {"samples_per_second", rate.samples},
              {"batches_per_second", rate.batches},
              {"bytes_per_second", rate.bytes},
              {"waiting", rate.waiting},
              {"reading", rate.reading},
              {"decoding", rate.decoding},
              {"augmenting", rate.augmenting},
              {"cache_hits", rate.hits}};
  Json stats = Json::object();
  LoaderStats::fields(loader.figures.stats,
                      [&](const FieldInfo& info, const auto& value) { stats[info.name] = value; });
  out["stats"] = std::move(stats);
  return out;
}

double unix_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

Json snapshot_json(const Snapshot& snapshot) {
  const HostCounters& host = snapshot.host;
  Json out;
  out["time"] = unix_time();
  out["seconds"] = snapshot.seconds;
  out["host"] = {{"cpu_busy", known(snapshot.cpu_busy)},
                 {"cpu_waiting", known(snapshot.cpu_waiting)},
                 {"memory_total", known(host.memory_total)},
                 {"memory_available", known(host.memory_available)},
                 {"page_cache", known(host.page_cache)}};
  out["group"] = {{"cpus", known(snapshot.group_cpus)},
                  {"quota", known(host.group.quota)},
                  {"memory_used", known(host.group.memory_used)},
                  {"memory_limit", known(host.group.memory_limit)}};
  out["disks"] = Json::array();
  for (const DiskRate& disk : snapshot.disks) {
    out["disks"].push_back({{"name", printable(disk.name)},
                            {"reads_per_second", disk.reads},
                            {"read_bytes_per_second", disk.read_bytes},
                            {"writes_per_second", disk.writes},
                            {"written_bytes_per_second", disk.written_bytes},
                            {"busy", disk.busy}});
  }
  out["gpus"] = Json::array();
  for (const Gpu& gpu : snapshot.gpus) out["gpus"].push_back(gpu_json(gpu));
  out["loaders"] = Json::array();
  for (const LoaderRate& rate : snapshot.loaders) out["loaders"].push_back(loader_json(rate));
  return out;
}

}  // namespace tundish
