// What a sample costs, and the rate that a number of workers is predicted to give.
#pragma once

#include <limits>

namespace tundish {

// What was measured in a piece of wall time. Sums are over all workers.
struct TuningWindow {
  double seconds = 0;      // wall time
  double samples = 0;      // made by the workers
  double read_s = 0;       // wall time that workers read
  double work_s = 0;       // wall time of the rest of making samples
  double cpu_s = 0;        // CPU time of the workers
  double wait_s = 0;       // that the trainer waited for batches
  double other_cpu_s = 0;  // CPU time of the process without its workers

  void add(const TuningWindow& other);
  double rate() const { return seconds > 0 ? samples / seconds : 0; }
  double wait_share() const { return seconds > 0 ? wait_s / seconds : 0; }
  double busy() const;                   // workers, on average
  double idle_share(int workers) const;  // of the time of so many workers
};

// Of one sample, in seconds of a worker.
struct SampleCosts {
  double cpu_s = 0;
  double blocked_s = 0;  // waiting for storage, without a CPU
  double no_cpu_s = 0;   // waiting for a CPU, or for other workers; not with fewer workers

  double thread_s() const { return cpu_s + blocked_s; }
};

SampleCosts costs_of(const TuningWindow& window);

// Whether a sample costs more than a third more or less than before, by CPU.
bool costs_differ(const SampleCosts& one, const SampleCosts& other);

struct CostModel {
  static constexpr double kNoLimit = std::numeric_limits<double>::infinity();

  SampleCosts costs;
  double limit = kNoLimit;  // samples per second that something shared (storage) was seen to give

  double rate(int threads, double cpus) const;  // samples per second
  double most(double cpus) const;               // the same with any number of threads
  int threads_for(double rate) const;           // the fewest that could make it; at least 1
};

}  // namespace tundish
