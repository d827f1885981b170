// Work done by a loader, and its durations. Sums are since creation; waits since the last window.
#pragma once

#include <cstdint>
#include <deque>

#include "loader/monitor/statistics.h"
#include "loader/monitor/wait_histogram.h"
#include "loader/monitor/worker_status.h"

namespace tundish {

// The trainer's part of the statistics; the threads' parts are in WorkerStatus. Not thread-safe:
// one thread at a time.
class Meter {
 public:
  void start(std::uint64_t now_ns) { started_ns_ = threads_since_ns_ = now_ns; }
  void set_threads(std::size_t threads, std::uint64_t now_ns);  // sets the active threads
  void wait(std::uint64_t ns, bool ended);  // wait for the coming batch; `ended`: it arrived
  void deliver(std::uint64_t images);

  // Omits what the engine adds: bad samples, slots, memory, cache.
  LoaderStats stats(const std::deque<WorkerStatus>& workers, const WorkerStatus& trainer) const;

  // Restarts shares and quantiles.
  void new_window(const LoaderStats& stats);

 private:
  std::uint64_t started_ns_ = 0, batches_ = 0, samples_ = 0, wait_ns_ = 0;
  std::uint64_t coming_ns_ = 0;                         // wait for the coming batch so far
  std::uint64_t thread_ns_ = 0, threads_since_ns_ = 0;  // sum until then; since then threads_ count
  std::size_t threads_ = 0;
  WaitHistogram waits_;
  LoaderStats window_;  // stats() at the start of the window
};

}  // namespace tundish
