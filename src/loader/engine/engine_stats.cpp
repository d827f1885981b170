// Statistics, warnings and bad samples of an engine, for loader.stats() and `tundish top`, and its
// trace.
#include <fmt/format.h>

#include "base/clock.h"
#include "base/units.h"
#include "loader/engine/engine_shared.h"
#include "loader/monitor/watchdog.h"

namespace tundish {
namespace {

constexpr std::uint64_t kPublishNs = 250'000'000;  // takes some microseconds, four times a second

}  // namespace

LoaderStats Engine::Shared::stats() const {
  const RingStats batches = ring.stats();
  std::lock_guard lock(mutex);
  LoaderStats out = meter.stats(workers, trainer);
  out.replaced = bad.replaced();
  out.skipped = bad.skipped();
  out.zeros = bad.zeros();
  out.bad = bad.bad();
  out.slots = batches.slots;
  out.prefetch = out.threads > 0 ? batches.depth : 0;
  out.ready_batches = batches.ready;
  if (tuner) {
    out.thread_changes = tuner->changes();
    out.predicted_rate = tuner->predicted_rate();
    out.prediction_ratio = tuner->prediction_ratio();
  }
  out.memory = options.memory;
  if (budget) {
    out.memory_used = out.memory - budget->bytes() + budget->most_used();
  }
  if (cache.samples) {
    out.cache_bytes = cache.samples->bytes();
    out.cache_room = cache.room;
    out.cache_needed = cache.needed;
  }
  return out;
}

void Engine::Shared::publish_when_due(std::uint64_t now) {
  if (now < publish_ns) return;
  publish_ns = now + kPublishNs;
  const LoaderStats figures = stats();
  const LoaderProgress progress{.epoch = epoch,
                                .position = position,
                                .epoch_samples = schedule.count,
                                .batch_size = options.batch_size,
                                .rank = options.rank,
                                .world_size = options.world_size,
                                .updated_ns = now,
                                .gpu_decodes = decode_on_gpu};
  std::lock_guard lock(mutex);  // end() may remove the publisher
  if (publisher) publisher->write(figures, progress);
}

LoaderStats Engine::stats() const { return shared_->stats(); }

std::uint64_t Engine::bad_positions() const {
  std::lock_guard lock(shared_->mutex);
  return shared_->bad.replaced() + shared_->bad.skipped() + shared_->bad.zeros();
}

std::uint64_t Engine::ready() const { return shared_->ring.stats().ready; }

std::vector<std::string> Engine::warnings() const {
  const CacheSetup& cache = shared_->cache;
  if (!cache.samples || cache.needed <= cache.room) return {};
  const bool decoded = cache.samples->kind() == CacheKind::decoded;
  return {fmt::format(
      "cache: the samples need {} {}, memory has {} for them: {} % stay in memory, those that come "
      "again soonest",
      bytes_text(cache.needed), decoded ? "as pixels" : "as they are stored",
      bytes_text(cache.room), 100 * cache.room / cache.needed)};
}

void Engine::new_window() {
  Shared& shared = *shared_;
  std::lock_guard lock(shared.mutex);
  shared.meter.new_window(shared.meter.stats(shared.workers, shared.trainer));
}

std::vector<BadSample> Engine::bad_samples() const {
  std::lock_guard lock(shared_->mutex);
  return shared_->bad.first();
}

std::vector<std::string> Engine::hanging(std::chrono::nanoseconds limit) {
  std::lock_guard lock(shared_->mutex);
  return tundish::hanging(shared_->workers, *shared_->recipe.source, shared_->recipe.image_field,
                          now_ns(), static_cast<std::uint64_t>(limit.count()));
}

// --- the trace: may start and stop while the threads run -----------------------------------------

void Engine::Shared::trace_to(const std::string& path) {
  if (path.empty()) {
    trainer.track = nullptr;
    for (WorkerStatus& worker : workers) worker.track = nullptr;
    return;
  }
  if (trace) {
    trace->begin_again(path);
  } else {
    const int threads = tuner ? tuner->most_threads() : *options.threads;
    trace = std::make_unique<Trace>(
        path, options.trace_bytes, static_cast<std::size_t>(threads) + 1,
        fmt::format("tundish rank {} of {}", options.rank, options.world_size),
        static_cast<int>(options.rank));
  }
  trainer.track = &trace->track("trainer");
  for (std::size_t i = 0; i < workers.size(); ++i) workers[i].track = &worker_track(i);
}

Track& Engine::Shared::worker_track(std::size_t number) {
  return trace->track(fmt::format("worker {}", number));
}

void Engine::trace_to(const std::string& path) {
  if (::getpid() != shared_->process) return;
  std::lock_guard lock(shared_->mutex);
  shared_->trace_to(path);
}

void Engine::write_trace() const {
  if (::getpid() != shared_->process) return;
  const Trace* trace = nullptr;
  {
    std::lock_guard lock(shared_->mutex);
    trace = shared_->trace.get();
  }
  if (trace) trace->write();
}

}  // namespace tundish
