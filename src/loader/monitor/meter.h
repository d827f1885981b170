// What a loader has done and how long it took. Sums since it was made; waits since the last window.
#pragma once

#include <cstdint>
#include <deque>

#include "loader/monitor/statistics.h"
#include "loader/monitor/wait_histogram.h"
#include "loader/monitor/worker_status.h"

namespace tundish {

// The trainer's side of the figures; the threads' own are in WorkerStatus. Not for several threads
// at once.
class Meter {
 public:
  void start(std::uint64_t now_ns) { started_ns_ = threads_since_ns_ = now_ns; }
  void set_threads(std::size_t threads, std::uint64_t now_ns);  // active from now on
  void wait(std::uint64_t ns, bool ended);  // for the coming batch; ended: it is here
  void deliver(std::uint64_t images);

  // Without what the engine adds: bad samples, slots, memory, cache.
  LoaderStats stats(const std::deque<WorkerStatus>& workers, const WorkerStatus& trainer) const;

  // Shares and quantiles begin again.
  void new_window(const LoaderStats& stats);

 private:
  std::uint64_t started_ns_ = 0, batches_ = 0, samples_ = 0, wait_ns_ = 0;
  std::uint64_t coming_ns_ = 0;                         // waited for the coming batch
  std::uint64_t thread_ns_ = 0, threads_since_ns_ = 0;  // sum up to a time, of threads_ since then
  std::size_t threads_ = 0;
  WaitHistogram waits_;
  LoaderStats window_;  // what stats() was when the window began
};

}  // namespace tundish
