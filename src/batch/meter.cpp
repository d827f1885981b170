#include "batch/meter.h"

#include <utility>

#include "core/clock.h"

namespace tundish {

void Meter::wait(std::uint64_t ns, bool ended) {
  wait_ns_ += ns;
  coming_ns_ += ns;
  if (ended) waits_.add(std::exchange(coming_ns_, 0));
}

void Meter::deliver(std::uint64_t images) {
  ++batches_;
  samples_ += images;
}

EngineStats Meter::stats(const std::deque<Doing>& workers, const Doing& trainer,
                         const BadLedger& bad) const {
  EngineStats out;
  out.batches = batches_;
  out.samples = samples_;
  out.replaced = bad.replaced();
  out.skipped = bad.skipped();
  out.bad = bad.bad();
  out.zeros = bad.zeros();
  const auto add = [&](const Doing& doing) {
    out.read_ns += doing.read_ns.sum();
    out.decode_ns += doing.decode_ns.sum();
    out.augment_ns += doing.augment_ns.sum();
    out.bytes += doing.bytes.sum();
    out.cache_hits += doing.cache_hits.sum();
    out.cache_misses += doing.cache_misses.sum();
  };
  add(trainer);
  for (const Doing& doing : workers) add(doing);
  out.wait_ns = wait_ns_;
  if (started_ns_ > 0) out.elapsed_ns = now_ns() - started_ns_;
  out.wait_p50_ns = waits_.quantile(0.5);
  out.wait_p99_ns = waits_.quantile(0.99);
  out.threads = workers.size();
  return out;
}

void Meter::new_window(const EngineStats& stats) {
  window_ = stats;
  waits_ = {};
}

}  // namespace tundish
