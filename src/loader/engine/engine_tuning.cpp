// threads="auto": the trainer's thread applies the choices of the rule.
#include <algorithm>

#include "base/machine/memory_limit.h"
#include "base/machine/usable_cpus.h"
#include "loader/engine/engine_shared.h"

namespace tundish {
namespace {

constexpr int kThreadsPerCpu = 32, kMaxThreads = 64, kMaxOpen = 16;
constexpr std::uint64_t kThreadBytes = 16 << 20;  // per worker: a sample and its rows
constexpr std::uint64_t kPartOfMemory = 8;        // at most 1/8 of the free memory is used

// Bytes available for more workers or open batches. `taken`: bytes they already use.
std::uint64_t memory_for_more(double share, std::uint64_t taken = 0) {
  const std::uint64_t left = memory_left() + taken;
  return static_cast<std::uint64_t>(share * static_cast<double>(left / kPartOfMemory));
}

bool may_open_more(const LoaderOptions& options) {
  return options.tune_prefetch && options.memory == 0 && !options.for_gpu && !options.lends &&
         !options.pin_memory;
}

// Maximum number of threads, which may exceed the CPUs because reads wait for storage. Limited to
// the CPUs if each thread has reserved memory, a whole open batch, or a share of a trace.
int most_threads(const LoaderOptions& options, double share) {
  const int cpus = *options.threads;
  if (options.memory > 0 || options.gpu_may_decode() || !options.trace.empty()) return cpus;
  const int open = std::max(options.prefetch, may_open_more(options) ? kMaxOpen : 1);
  const std::uint64_t places = std::uint64_t{options.batch_size} * static_cast<std::uint64_t>(open);
  const std::uint64_t most =
      std::min({places, memory_for_more(share) / kThreadBytes, std::uint64_t{kMaxThreads}});
  return std::max(cpus, std::min(kThreadsPerCpu * cpus, static_cast<int>(most)));
}

}  // namespace

void Engine::Shared::make_tuner() {
  if (!options.tune_threads || options.replay) return;
  const double usable = usable_cpu_time();
  const double share = std::min(1.0, *options.threads / std::max(usable, 1.0));
  tuner = std::make_unique<Tuner>(*options.threads, usable, most_threads(options, share),
                                  options.prefetch);
}

// Maximum number of open batches: prefetch, plus as many as fit in memory.
int Engine::Shared::most_open() const {
  if (!may_open_more(options) || batch_bytes == 0) return options.prefetch;
  const auto more = static_cast<std::uint64_t>(tuner->open_batches() - options.prefetch);
  const std::uint64_t room = memory_for_more(tuner->share(), more * batch_bytes) / batch_bytes;
  const auto most = static_cast<std::uint64_t>(std::max(0, kMaxOpen - options.prefetch));
  return options.prefetch + static_cast<int>(std::min(room, most));
}

// The mutex must be held, also for the next function.
void Engine::Shared::measure_batch(const Slot& slot) {
  std::uint64_t bytes = 0;
  for (const SlotView& view : slot.views) {
    bytes += view.pixels.bytes() + view.levels.bytes();
    for (const HostMemory& one : view.own_buffers) bytes += one.bytes();
  }
  batch_bytes = std::max(batch_bytes, bytes);
}

void Engine::set_threads(std::size_t threads) {
  std::lock_guard lock(shared_->mutex);
  if (ended_) return;
  start_threads(std::max<std::size_t>(threads, 1));
  shared_->ring.set_active(threads);
}

void Engine::set_prefetch(std::size_t batches) { shared_->ring.set_depth(batches); }

void Engine::hold_tuning(bool held) { shared_->tuning_held = held; }

std::deque<TuningEntry> Engine::tuning_entries() const {
  std::lock_guard lock(shared_->mutex);
  return shared_->tuner ? shared_->tuner->entries() : std::deque<TuningEntry>{};
}

// Shared::mutex must be held.
void Engine::tune(std::uint64_t begin_ns, std::uint64_t end_ns, const Slot* received) {
  Shared& shared = *shared_;
  if (received) shared.measure_batch(*received);
  if (shared.tuning_held || ended_ ||
      !shared.tuner->waited(begin_ns, end_ns, received != nullptr)) {
    return;
  }
  if (shared.tuner->counts_again(end_ns)) {
    shared.tuner->set_usable(usable_cpu_time(), shared.most_open(), end_ns);
  }
  const auto change = shared.tuner->observe(end_ns, count_work(shared.workers));
  if (!change) return;
  const auto threads = static_cast<std::size_t>(change->threads);
  start_threads(threads);
  shared.ring.set_active(threads);
  shared.ring.set_depth(static_cast<std::size_t>(change->open_batches));
}

}  // namespace tundish
