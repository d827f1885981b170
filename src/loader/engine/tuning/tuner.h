// Runs threads="auto": turns the engine's counters into windows for the rule, and keeps the rule's
// choices. Has no thread: the trainer's thread calls it inside Engine::next().
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "loader/engine/tuning/tuning_rule.h"
#include "loader/monitor/worker_status.h"

namespace tundish {

// Sums since the start of the engine.
struct TuningCounts {
  std::uint64_t samples = 0, read_ns = 0, work_ns = 0, cpu_ns = 0;  // sums over all workers
  std::uint64_t process_cpu_ns = 0;
};
TuningCounts count_work(const std::deque<WorkerStatus>& workers);

struct TuningEntry {
  double at_s;  // seconds since the start of the engine
  TuningChange change;
};

class Tuner {
 public:
  // cpus: initial number of threads, out of `usable` CPUs of the process (fractional with a quota).
  // open_batches: initial number.
  Tuner(int cpus, double usable, int most_threads, int open_batches = 1);

  // Reports that the trainer's thread was in next() from begin to end, waiting for a batch, and
  // whether it received one. Returns true if observe() is due.
  bool waited(std::uint64_t begin_ns, std::uint64_t end_ns, bool received);

  // Whether the CPUs and the memory of the process must be counted again: once a second.
  bool counts_again(std::uint64_t now_ns) const { return now_ns >= counted_ns_ + kCountNs; }
  void set_usable(double usable, int most_open, std::uint64_t now_ns);
  double share() const { return share_; }
  int open_batches() const { return rule_.open_batches(); }
  int most_threads() const { return limits_.most_threads; }

  std::optional<TuningChange> observe(std::uint64_t now_ns, const TuningCounts& counts);

  double predicted_rate() const;  // with the current threads; 0: unknown
  double prediction_ratio() const { return rule_.prediction_ratio(); }
  std::uint64_t changes() const { return changes_; }
  const std::deque<TuningEntry>& entries() const { return entries_; }  // the newest kMaxEntries

 private:
  static constexpr std::uint64_t kWindowNs = 250'000'000, kCountNs = 1'000'000'000;
  static constexpr std::uint64_t kLongestNs = 2'000'000'000;
  static constexpr std::uint64_t kBatches = 4;  // per window in which the trainer hardly waits
  static constexpr std::size_t kMaxEntries = 100;

  void begin_window(std::uint64_t now_ns, const TuningCounts& counts);

  const double share_;  // this engine's share of the process's CPUs
  TuningLimits limits_;
  TuningRule rule_;
  std::uint64_t started_ns_ = 0, counted_ns_ = 0;
  TuningCounts before_;  // counts at the start of the window
  std::uint64_t begin_ns_ = 0, last_ns_ = 0, wait_ns_ = 0, away_ns_ = 0, batches_ = 0;
  std::uint64_t changes_ = 0;
  std::deque<TuningEntry> entries_;
};

}  // namespace tundish
