// What a loader has done and how long it took. Sums since it was made; waits since the last window.
#pragma once

#include <cstdint>
#include <deque>

#include "batch/bad_ledger.h"
#include "batch/doing.h"
#include "batch/sample_cache.h"
#include "batch/wait_histogram.h"

namespace tundish {

struct EngineStats {
  std::uint64_t batches = 0, samples = 0, replaced = 0, skipped = 0, bytes = 0;
  std::uint64_t bad = 0;    // samples that could not be loaded, replacements among them
  std::uint64_t zeros = 0;  // of `samples`: images of zeros, which a GPU could not decode
  std::uint64_t read_ns = 0, decode_ns = 0, augment_ns = 0;  // summed over threads
  std::uint64_t wait_ns = 0;                                 // the trainer's
  std::uint64_t elapsed_ns = 0;                              // since the threads were started
  std::uint64_t wait_p50_ns = 0, wait_p99_ns = 0;            // of a batch, in this window
  std::uint64_t slots = 0, ready = 0, threads = 0;
  std::uint64_t budget = 0, budget_used = 0;  // bytes; the second at its highest
  CacheKind cache = CacheKind::none;
  std::uint64_t cache_hits = 0, cache_misses = 0;
  // Bytes: held now; of all samples (0: not known); of these there was room for at construction.
  std::uint64_t cache_bytes = 0, cache_needed = 0, cache_room = 0;
};

// The trainer's side of the figures; the threads' own are in Doing. Not for several threads at
// once.
class Meter {
 public:
  void start(std::uint64_t now_ns) { started_ns_ = now_ns; }
  void wait(std::uint64_t ns, bool ended);  // for the coming batch; ended: it is here
  void deliver(std::uint64_t images);

  EngineStats stats(const std::deque<Doing>& workers, const Doing& trainer,
                    const BadLedger& bad) const;

  // Shares and quantiles begin anew: window() becomes what stats() was.
  void new_window(const EngineStats& stats);
  const EngineStats& window() const { return window_; }

 private:
  std::uint64_t started_ns_ = 0, batches_ = 0, samples_ = 0, wait_ns_ = 0;
  std::uint64_t coming_ns_ = 0;  // waited for the coming batch
  WaitHistogram waits_;
  EngineStats window_;
};

}  // namespace tundish
