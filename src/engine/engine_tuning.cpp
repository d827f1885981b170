// threads="auto": the trainer's thread applies what the rule chooses.
#include <algorithm>

#include "core/machine/usable_cpus.h"
#include "engine/engine_shared.h"

namespace tundish {
namespace {

constexpr int kThreadsPerCpu = 4, kMostThreads = 64;

// More threads than CPUs, for reads that wait for storage; not where each thread has memory that
// was promised, has a whole batch open, or has a share of a trace.
int most_threads(const LoaderOptions& options) {
  const int cpus = *options.threads;
  if (options.memory > 0 || options.gpu_may_decode() || !options.trace.empty()) return cpus;
  const std::uint64_t places =
      std::uint64_t{options.batch_size} * static_cast<std::uint64_t>(std::max(options.prefetch, 1));
  const std::uint64_t most = std::min<std::uint64_t>(places, kMostThreads);
  return std::max(cpus, std::min(kThreadsPerCpu * cpus, static_cast<int>(most)));
}

}  // namespace

void Engine::Shared::make_tuner() {
  if (!options.tune_threads || options.replay) return;
  tuner = std::make_unique<Tuner>(*options.threads, usable_cpu_time(), most_threads(options));
}

void Engine::set_threads(std::size_t threads) {
  std::lock_guard lock(shared_->mutex);
  if (ended_) return;
  start_threads(std::max<std::size_t>(threads, 1));
  shared_->ring.set_active(threads);
}

void Engine::hold_tuning(bool held) { shared_->tuning_held = held; }

std::deque<TuningEntry> Engine::tuning_entries() const {
  std::lock_guard lock(shared_->mutex);
  return shared_->tuner ? shared_->tuner->entries() : std::deque<TuningEntry>{};
}

// With the mutex of Shared held.
void Engine::tune(std::uint64_t begin_ns, std::uint64_t end_ns, bool received) {
  Shared& shared = *shared_;
  if (shared.tuning_held || ended_ || !shared.tuner->waited(begin_ns, end_ns, received)) return;
  if (shared.tuner->counts_cpus(end_ns)) shared.tuner->set_usable(usable_cpu_time(), end_ns);
  const auto change = shared.tuner->observe(end_ns, count_work(shared.workers));
  if (!change) return;
  const auto threads = static_cast<std::size_t>(change->threads);
  start_threads(threads);
  shared.ring.set_active(threads);
}

}  // namespace tundish
