// The cost of a sample, and the predicted rate of a number of workers.
#pragma once

#include <limits>

namespace tundish {

// Measurements over a span of wall time. Sums are over all workers.
struct TuningWindow {
  double seconds = 0;      // wall time
  double samples = 0;      // samples made by the workers
  double read_s = 0;       // wall time of reading
  double work_s = 0;       // wall time of the rest of making samples
  double cpu_s = 0;        // CPU time of the workers
  double wait_s = 0;       // wall time that the trainer waited for batches
  double other_cpu_s = 0;  // CPU time of the process outside its workers

  void add(const TuningWindow& other);
  double rate() const { return seconds > 0 ? samples / seconds : 0; }
  double wait_share() const { return seconds > 0 ? wait_s / seconds : 0; }
  double busy() const;                   // average number of busy workers
  double idle_share(int workers) const;  // idle share of the time of `workers`
};

// Costs of one sample, in seconds of a worker.
struct SampleCosts {
  double cpu_s = 0;
  double blocked_s = 0;  // waiting for storage, without using a CPU
  double no_cpu_s = 0;   // waiting for a CPU or for other workers; vanishes with fewer workers

  double thread_s() const { return cpu_s + blocked_s; }
};

SampleCosts costs_of(const TuningWindow& window);

// Whether the CPU costs of a sample differ by more than a third.
bool costs_differ(const SampleCosts& one, const SampleCosts& other);

struct CostModel {
  static constexpr double kNoLimit = std::numeric_limits<double>::infinity();

  SampleCosts costs;
  double limit = kNoLimit;  // samples per second, the observed limit of a shared resource (storage)

  double rate(int threads, double cpus) const;  // samples per second
  double most(double cpus) const;               // upper limit for any number of threads
  int threads_for(double rate) const;           // fewest threads that reach `rate`; at least 1
};

}  // namespace tundish
