#include "loader/engine/tuning/cost_model.h"

#include <algorithm>
#include <cmath>

namespace tundish {
namespace {

constexpr double kMin = 1e-9;             // minimum cost, so that divisors are not 0
constexpr double kMaxThreads = 1e6;       // maximum result, fits in an int
constexpr double kRoundedDown = 0.05;     // fraction of a thread, tolerance of a measurement
constexpr double kAnotherLoad = 4.0 / 3;  // ratio of CPU times

}  // namespace

void TuningWindow::add(const TuningWindow& other) {
  seconds += other.seconds;
  samples += other.samples;
  read_s += other.read_s;
  work_s += other.work_s;
  cpu_s += other.cpu_s;
  wait_s += other.wait_s;
  other_cpu_s += other.other_cpu_s;
}

// Work between samples only appears in the CPU time.
double TuningWindow::busy() const {
  return seconds > 0 ? std::max(read_s + work_s, cpu_s) / seconds : 0;
}

double TuningWindow::idle_share(int workers) const {
  return std::max(0.0, 1 - busy() / std::max(workers, 1));
}

// Only the total CPU time is known. Decoding and augmenting never wait. If they take longer than
// the CPU time, CPUs were scarce; if they take less, reading used the rest.
SampleCosts costs_of(const TuningWindow& window) {
  if (window.samples <= 0) return {};
  const double read = window.read_s / window.samples;
  const double work = window.work_s / window.samples;
  const double cpu = std::max(window.cpu_s / window.samples, kMin);
  return {.cpu_s = cpu,
          .blocked_s = std::max(0.0, read - std::max(0.0, cpu - work)),
          .no_cpu_s = std::max(0.0, work - cpu)};
}

bool costs_differ(const SampleCosts& one, const SampleCosts& other) {
  const double less = std::min(one.cpu_s, other.cpu_s), more = std::max(one.cpu_s, other.cpu_s);
  return more > kAnotherLoad * less;
}

double CostModel::rate(int threads, double cpus) const {
  return std::min(threads / std::max(costs.thread_s(), kMin), most(cpus));
}

double CostModel::most(double cpus) const {
  return std::min(cpus / std::max(costs.cpu_s, kMin), limit);
}

int CostModel::threads_for(double rate) const {
  const double threads = std::ceil(rate * costs.thread_s() - kRoundedDown);
  return static_cast<int>(std::clamp(threads, 1.0, kMaxThreads));
}

}  // namespace tundish
