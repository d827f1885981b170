// A simulated loader for tests, defined by formulas. Its rate for each number of workers and open
// batches is known, and so are the best fixed numbers.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>

#include "loader/engine/tuning/tuning_rule.h"

namespace tundish {

struct SimulatedLoad {
  double cpus = 8;
  int most_threads = 32;
  double cpu_s = 0.001;          // CPU time per sample
  double latency_s = 0;          // time of a read without a CPU
  double slower_when_asked = 0;  // share of the rate that storage loses per read above these
  double reads_at_once = 1e6;    // parallel reads that storage serves
  double demand = 1e9;           // samples per second that the trainer can take
  double trainer_cpu_s = 0;      // CPU time of the trainer per sample
  double shared_cores =
      0;  // 1: a sample takes twice as long with all CPUs busy as with half of the CPUs busy
  double per_extra_thread = 0;  // share of the rate lost per worker above the CPUs
  int most_open = 4;
  double waits_for_oldest = 0;  // share of the workers' time lost with one open batch
  double noise = 0;             // relative standard deviation of measurements
  double hiccups = 0;           // share of windows that make only half of the samples

  TuningLimits limits() const { return {cpus, most_threads, most_open}; }

  // Samples per second that the workers can make, and the CPU time per sample. The CPU time depends
  // on the number of busy CPUs, which depends on the rate.
  struct Speed {
    double capacity, cpu_s;
  };
  Speed speed(int threads) const {
    const double half = cpus / 2, extra = std::max(0.0, threads - std::ceil(cpus));
    const double queued = std::max(0.0, threads - reads_at_once);
    const double served = reads_at_once / (1 + slower_when_asked * queued);
    const double by_storage = latency_s > 0 ? served / latency_s : 1e9;
    Speed out{0, cpu_s};
    for (int i = 0; i < 30; ++i) {
      const double busy = std::min(out.capacity, demand) * (out.cpu_s + trainer_cpu_s);
      const double on_shared = std::clamp((busy - half) / half, 0.0, 1.0);
      out.cpu_s = cpu_s * (1 + shared_cores * on_shared) * (1 + per_extra_thread * extra);
      const double now = std::min(
          {threads / (out.cpu_s + latency_s), cpus / (out.cpu_s + trainer_cpu_s), by_storage});
      out.capacity = (out.capacity + now) / 2;
    }
    return out;
  }
  double at_work(int open) const { return 1 - waits_for_oldest / open; }  // share of the time
  double rate(int threads, int open) const {
    return std::min(at_work(open) * speed(threads).capacity, demand);
  }
  double best() const {
    double most = 0;
    for (int n = 1; n <= most_threads; ++n) most = std::max(most, rate(n, most_open));
    return most;
  }

  // Returns the measurements of `seconds` with these numbers of workers and open batches.
  TuningWindow window(int threads, int open, double seconds, std::mt19937_64& random) const {
    std::normal_distribution<double> normal(0, 1);
    const auto noisy = [&] { return std::max(0.3, 1 + noise * normal(random)); };
    const bool hiccup = std::uniform_real_distribution<double>()(random) < hiccups;
    const double made = rate(threads, open) * (hiccup ? 0.5 : 1.0) * noisy();
    const auto [capacity, cpu] = speed(threads);
    const bool data_bound = at_work(open) * capacity < demand;
    TuningWindow out{.seconds = seconds, .samples = made * seconds};
    out.cpu_s = out.samples * cpu * noisy();
    out.read_s = out.samples * latency_s * noisy();
    out.work_s = out.samples * cpu;
    const double left = at_work(open) * threads * seconds - out.read_s - out.work_s;
    // Workers that do not wait for the oldest batch are busy: queued at storage, or short of CPUs.
    if (data_bound && left > 0) {
      const double queued = std::max(0.0, threads - reads_at_once);
      const bool by_storage =
          latency_s > 0 &&
          capacity * latency_s * (1 + slower_when_asked * queued) >= 0.99 * reads_at_once;
      (by_storage ? out.read_s : out.work_s) += left;
    }
    const double waits = std::max(0.0, 1 - made / demand);
    out.wait_s = seconds * (data_bound || hiccup ? waits : 0.0);
    out.other_cpu_s = out.samples * trainer_cpu_s * noisy();
    return out;
  }
};

}  // namespace tundish
