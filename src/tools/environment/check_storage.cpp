#include "tools/environment/check_storage.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/units.h"

namespace tundish {
namespace {

constexpr std::uint64_t kLargeRead = std::uint64_t{256} << 10;

double real(std::uint64_t value) { return static_cast<double>(value); }

std::string rate_text(double bytes_per_second) {
  return bytes_per_second >= 1e9 ? fmt::format("{:.2f} GB/s", bytes_per_second / 1e9)
                                 : fmt::format("{:.0f} MB/s", bytes_per_second / 1e6);
}

Finding system_finding(const StorageState& storage) {
  Finding out{.area = "storage", .name = "file system"};
  out.values = {{"free_bytes", real(storage.free_bytes)},
                {"total_bytes", real(storage.total_bytes)}};
  out.figure = storage.mount ? printable(storage.mount->type) : "not known";
  if (storage.disk) {
    const BlockDevice& disk = *storage.disk;
    out.figure += fmt::format(" on {}", printable(disk.name));
    if (!disk.model.empty()) out.figure += fmt::format(" ({})", printable(disk.model));
  }
  if (storage.total_bytes > 0)
    out.figure += fmt::format(", {} free", bytes_text(storage.free_bytes));
  if (storage.mount && is_network_file_system(storage.mount->type)) {
    out.level = Level::warning;
    out.reason = "every read crosses a network";
    out.fix = fmt::format("cp -r {} /a/local/disk/", printable(storage.shown_path));
  }
  return out;
}

Finding cache_finding(const StorageState& storage) {
  Finding out{.area = "storage", .name = "page cache"};
  const double share = storage.cache.share();
  out.values = {{"share", share},
                {"seen_bytes", real(storage.cache.seen)},
                {"data_bytes", real(storage.data.bytes)}};
  out.figure = storage.cache.seen == 0
                   ? "not known"
                   : fmt::format("{:.0f} % of {} is in memory", 100 * share,
                                 storage.cache.seen < storage.data.bytes || !storage.data.complete
                                     ? "a part of the data"
                                     : bytes_text(storage.data.bytes));
  return out;
}

Finding sequential_finding(const StorageState& storage) {
  Finding out{.area = "storage", .name = "sequential reading"};
  const ReadRate& rate = storage.sequential;
  out.values = {{"bytes_per_second", rate.bytes_per_second()},
                {"past_cache", rate.past_cache ? 1 : 0}};
  if (!rate.fault.empty() || rate.reads == 0) {
    out.level = Level::problem;
    out.figure = "failed";
    out.reason = rate.fault.empty() ? "nothing could be read" : rate.fault;
    out.fix = fmt::format("ls -lL {}, then sudo dmesg | tail", printable(storage.shown_path));
    return out;
  }
  out.figure = fmt::format("{}, {}", rate_text(rate.bytes_per_second()),
                           rate.past_cache ? "past the page cache" : "pages dropped first");
  // Reads of small files wait for one another, which the random reading test measures already.
  const bool small_files = rate.bytes / rate.reads < kLargeRead;
  if (rate.bytes_per_second() >= 100e6 || small_files) return out;
  out.level = Level::warning;
  out.reason = "slow for a disk: an SSD gives 500 MB/s and more";
  out.fix = fmt::format("cp -r {} /a/faster/disk/", printable(storage.shown_path));
  return out;
}

Finding random_finding(const StorageState& storage) {
  Finding out{.area = "storage", .name = "random reading"};
  const std::string what = storage.record_bytes == 0 ? std::string("whole files")
                                                     : bytes_text(storage.record_bytes) + " each";
  std::string rates;
  double best = 0;
  unsigned best_depth = 1;
  for (const ReadRate& rate : storage.random) {
    if (!rate.fault.empty() || rate.reads == 0) continue;
    const double reads = rate.reads_per_second();
    rates += fmt::format("{}{:.0f} at depth {}", rates.empty() ? "" : ", ", reads, rate.depth);
    out.values.emplace_back(fmt::format("reads_per_second_{}", rate.depth), reads);
    out.values.emplace_back(fmt::format("bytes_per_second_{}", rate.depth),
                            rate.bytes_per_second());
    // Ten percent more reads do not justify more depth, which costs threads.
    if (reads > 1.1 * best) {
      best = reads;
      best_depth = rate.depth;
    }
  }
  out.values.emplace_back("record_bytes", real(storage.record_bytes));
  if (rates.empty()) {
    out.level = Level::problem;
    out.figure = "failed";
    out.reason = storage.random.empty() ? "nothing could be read" : storage.random[0].fault;
    out.fix = fmt::format("ls -lL {}, then sudo dmesg | tail", printable(storage.shown_path));
    return out;
  }
  out.figure = fmt::format("reads per second, {}: {}", what, rates);
  out.values.emplace_back("best_depth", best_depth);
  const bool whole_files = storage.record_bytes == 0;
  if (best >= 2000) return out;
  out.level = best < 200 ? Level::problem : Level::warning;
  out.reason = fmt::format(
      "training in random order gets at most {:.0f} samples per second from this disk", best);
  out.fix =
      whole_files
          ? fmt::format("tundish pack {} -o data.tnd, on a local SSD",
                        printable(storage.shown_path))
          : fmt::format("cp {} /a/faster/disk/, or Loader(memory=...) with room for all of it",
                        printable(storage.shown_path));
  return out;
}

}  // namespace

Findings check_storage(const StorageState& storage) {
  Findings out = {system_finding(storage)};
  if (storage.data.files.empty()) {
    out[0].level = Level::problem;
    out[0].reason = "there is no file to read below this path";
    out[0].fix = fmt::format("ls -lL {}", printable(storage.shown_path));
    return out;
  }
  out.push_back(cache_finding(storage));
  if (!storage.measured) return out;
  out.push_back(sequential_finding(storage));
  out.push_back(random_finding(storage));
  return out;
}

}  // namespace tundish
