#include "loader/monitor/meter.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"

namespace tundish {
namespace {

double seconds(std::uint64_t ns) { return static_cast<double>(ns) / 1e9; }

double share(double part, double whole) { return whole > 0 ? std::min(1.0, part / whole) : 0.0; }

}  // namespace

void Meter::wait(std::uint64_t ns, bool ended) {
  wait_ns_ += ns;
  coming_ns_ += ns;
  if (ended) waits_.add(std::exchange(coming_ns_, 0));
}

void Meter::set_threads(std::size_t threads, std::uint64_t now_ns) {
  thread_ns_ += (now_ns - std::exchange(threads_since_ns_, now_ns)) * threads_;
  threads_ = threads;
}

void Meter::deliver(std::uint64_t images) {
  ++batches_;
  samples_ += images;
}

LoaderStats Meter::stats(const std::deque<WorkerStatus>& workers,
                         const WorkerStatus& trainer) const {
  LoaderStats out;
  out.batches = batches_;
  out.samples = samples_;
  const auto add = [&](const WorkerStatus& status) {
    out.read_s += seconds(status.read_ns.sum());
    out.decode_s += seconds(status.decode_ns.sum());
    out.augment_s += seconds(status.augment_ns.sum());
    out.bytes += status.bytes.sum();
    out.cache_hits += status.cache_hits.sum();
    out.cache_misses += status.cache_misses.sum();
  };
  const std::uint64_t now = now_ns();
  add(trainer);
  for (const WorkerStatus& status : workers) add(status);
  out.wait_s = seconds(wait_ns_);
  if (started_ns_ > 0) {
    out.elapsed_s = seconds(now - started_ns_);
    out.thread_s = seconds(thread_ns_ + (now - threads_since_ns_) * threads_);
  }
  out.wait_p50_s = seconds(waits_.quantile(0.5));
  out.wait_p99_s = seconds(waits_.quantile(0.99));
  out.threads = threads_;
  const double elapsed = out.elapsed_s - window_.elapsed_s;
  const double threads = out.thread_s - window_.thread_s;
  out.wait_share = share(out.wait_s - window_.wait_s, elapsed);
  const double read = out.read_s - window_.read_s;
  const double decode = out.decode_s - window_.decode_s;
  const double augment = out.augment_s - window_.augment_s;
  // Stages are timed for one sample in 16, so on a busy machine their sum can exceed the threads'
  // time.
  const double available = std::max(threads, read + decode + augment);
  out.read_busy = share(read, available);
  out.decode_busy = share(decode, available);
  out.augment_busy = share(augment, available);
  out.cache_hit_share = share(static_cast<double>(out.cache_hits),
                              static_cast<double>(out.cache_hits + out.cache_misses));
  return out;
}

void Meter::new_window(const LoaderStats& stats) {
  window_ = stats;
  waits_ = {};
}

}  // namespace tundish
