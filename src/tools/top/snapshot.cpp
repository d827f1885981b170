#include "tools/top/snapshot.h"

#include <algorithm>

#include "base/clock.h"

namespace tundish {
namespace {

constexpr double kOldSeconds = 15;

// A counter may go backwards: after a disk was replaced, or for a different loader.
double grown(std::uint64_t before, std::uint64_t now) {
  return now > before ? static_cast<double>(now - before) : 0;
}
double grown(double before, double now) { return now > before ? now - before : 0; }

double share(double part, double whole) { return whole > 0 ? std::min(1.0, part / whole) : 0; }

bool same_loader(const RunningLoader& a, const RunningLoader& b) {
  return a.process == b.process && a.descriptor == b.descriptor;
}

}  // namespace

LoaderRate rate_of(const RunningLoader& before, const RunningLoader& now, double seconds) {
  LoaderRate out{.loader = now};
  const LoaderStats& old = before.figures.stats;
  const LoaderStats& stats = now.figures.stats;
  // The values date from the moments at which the loader published them.
  const double elapsed = grown(old.elapsed_s, stats.elapsed_s);
  const double time = elapsed > 0 ? elapsed : seconds;
  if (time <= 0) return out;
  out.samples = grown(old.samples, stats.samples) / time;
  out.batches = grown(old.batches, stats.batches) / time;
  out.bytes = grown(old.bytes, stats.bytes) / time;
  out.waiting = share(grown(old.wait_s, stats.wait_s), time);
  const double threads = grown(old.thread_s, stats.thread_s);  // the thread count may change
  out.reading = share(grown(old.read_s, stats.read_s), threads);
  out.decoding = share(grown(old.decode_s, stats.decode_s), threads);
  out.augmenting = share(grown(old.augment_s, stats.augment_s), threads);
  const double hits = grown(old.cache_hits, stats.cache_hits);
  out.hits = share(hits, hits + grown(old.cache_misses, stats.cache_misses));
  return out;
}

Sampler::Sampler(const SamplerOptions& options)
    : options_(options), nvml_(options.nvml), gpus_(nvml_.gpus()) {}

void Sampler::add_disks(Snapshot& out) const {
  for (const DiskCounters& now : out.host.disks) {
    const auto old = std::find_if(before_.disks.begin(), before_.disks.end(),
                                  [&](const DiskCounters& one) { return one.name == now.name; });
    DiskRate rate{.name = now.name};
    if (old != before_.disks.end() && out.seconds > 0) {
      const double seconds = out.seconds;
      rate.reads = grown(old->reads, now.reads) / seconds;
      rate.writes = grown(old->writes, now.writes) / seconds;
      rate.read_bytes = grown(old->read_sectors, now.read_sectors) * kSectorBytes / seconds;
      rate.written_bytes =
          grown(old->written_sectors, now.written_sectors) * kSectorBytes / seconds;
      rate.busy = share(grown(old->busy_ms, now.busy_ms) / 1000, seconds);
    }
    out.disks.push_back(std::move(rate));
  }
}

void Sampler::add_loaders(Snapshot& out) {
  const bool search = searched_ns_ == 0 || static_cast<double>(out.host.at_ns - searched_ns_) >=
                                               options_.search_seconds * 1e9;
  std::vector<RunningLoader> found;
  if (search) {
    found = find_loaders(options_.roots);
    searched_ns_ = out.host.at_ns;
  } else {
    for (const LoaderRate& known : loaders_) found.push_back(known.loader);
    std::erase_if(found,
                  [&](RunningLoader& loader) { return !update_loader(loader, options_.roots); });
  }
  const std::uint64_t now = now_ns();
  for (RunningLoader& loader : found) {
    const auto old = std::find_if(loaders_.begin(), loaders_.end(), [&](const LoaderRate& one) {
      return same_loader(one.loader, loader);
    });
    LoaderRate rate{.loader = loader};
    const double age_s = grown(loader.figures.progress.updated_ns, now) / 1e9;
    if (old != loaders_.end()) {
      // A loader publishes when a batch is taken: rates are stale while a long step runs.
      const bool published = loader.figures.sequence != old->loader.figures.sequence;
      if (published) rate = rate_of(old->loader, loader, out.seconds);
      if (!published && age_s < kOldSeconds) rate = *old;
    }
    rate.age_s = age_s;
    out.loaders.push_back(std::move(rate));
  }
  loaders_ = out.loaders;
}

Snapshot Sampler::take() {
  Snapshot out;
  out.host = read_host_counters(options_.roots);
  if (before_.at_ns > 0) out.seconds = static_cast<double>(out.host.at_ns - before_.at_ns) / 1e9;
  if (before_.cpu && out.host.cpu) {
    const double all = grown(before_.cpu->all, out.host.cpu->all);
    const double idle = grown(before_.cpu->idle, out.host.cpu->idle);
    out.cpu_busy = all > 0 ? 1 - share(idle, all) : 0;
    out.cpu_waiting = share(grown(before_.cpu->waiting, out.host.cpu->waiting), all);
  }
  if (before_.group.cpu_ns && out.host.group.cpu_ns && out.seconds > 0) {
    out.group_cpus = grown(*before_.group.cpu_ns, *out.host.group.cpu_ns) / 1e9 / out.seconds;
  }
  add_disks(out);
  for (Gpu& gpu : gpus_) nvml_.update(gpu);
  out.gpus = gpus_;
  add_loaders(out);
  before_ = out.host;
  return out;
}

}  // namespace tundish
