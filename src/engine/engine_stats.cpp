// The figures of an engine: for loader.stats(), and published for `tundish top`.
#include "core/clock.h"
#include "engine/engine_shared.h"

namespace tundish {
namespace {

constexpr std::uint64_t kPublishNs = 250'000'000;  // some microseconds of work, four times a second

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
  std::lock_guard lock(mutex);  // end() may take the publisher away
  if (publisher) publisher->write(figures, progress);
}

}  // namespace tundish
