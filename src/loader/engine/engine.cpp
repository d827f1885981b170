#include "loader/engine/engine.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "base/clock.h"
#include "base/units.h"
#include "loader/engine/engine_shared.h"
#include "loader/monitor/watchdog.h"
#include "loader/state/saved_state.h"

namespace tundish {
namespace {

constexpr auto kJoinTimeout = std::chrono::milliseconds(900);

}  // namespace

bool Engine::Shared::open_next(Slot& slot) {
  if (tundish::steps_from(schedule, open_position) == 0) {
    ++open_epoch;
    open_position = 0;
    if (tundish::steps_from(schedule, 0) == 0) return false;  // less than one global batch
  }
  const Step step = step_at(schedule, open_position);
  slot.epoch = open_epoch;
  slot.first = step.first;
  slot.start = open_position;
  slot.next = step.next;
  slot.places.resize(step.size);
  for (std::size_t i = 0; i < step.size; ++i) slot.places[i].position = step.first + i;
  slot.views.resize(recipe.views.size());
  if (mixer) mixer->open(slot);
  slot.single_task = decode_on_gpu;
  open_position = step.next;
  return true;
}

void Engine::Shared::work(WorkerStatus& status, std::size_t number) {
  clockid_t clock = 0;
  if (::pthread_getcpuclockid(::pthread_self(), &clock) == 0) status.cpu_clock = clock;
  try {
    auto scratch = std::make_unique<Scratch>();
    scratch->timer.status = &status;
    while (auto task = ring.claim(number)) {
      Slot& slot = *task->slot;
      scratch->age = task->ticket;
      Maker& maker = slot.single_task ? static_cast<Maker&>(*gpu_maker) : cpu_maker;
      maker.make(slot, task->place, scratch);
      status.activity = WorkerStatus::Activity::waiting;
      ring.done(std::move(*task));
    }
  } catch (...) {  // out of memory while claiming a task: next() rethrows
    {
      std::lock_guard lock(mutex);
      broken = std::current_exception();
    }
    ring.close();
  }
  std::lock_guard lock(mutex);
  status.activity = WorkerStatus::Activity::ended;
  --running;
  idle.notify_all();
}

Engine::Engine(std::shared_ptr<const Source> source, LoaderOptions options)
    : shared_(std::make_shared<Shared>(std::move(source), std::move(options))) {}

Engine::~Engine() {
  if (::getpid() != shared_->process) {
    // In a forked child the threads do not exist and locks may stay locked forever: touch nothing.
    new std::shared_ptr<Shared>(std::move(shared_));
    new std::vector<std::thread>(std::move(threads_));
    return;
  }
  if (!ended_) end();
}

std::vector<std::string> Engine::end() {
  Shared& shared = *shared_;
  std::vector<std::string> left;
  if (::getpid() != shared.process) return left;
  ended_ = true;
  close();
  std::unique_lock lock(shared.mutex);
  shared.publisher.reset();
  const bool all_back =
      shared.idle.wait_for(lock, kJoinTimeout, [&] { return shared.running == 0; });
  std::vector<std::thread> threads = std::exchange(threads_, {});
  if (all_back) {
    lock.unlock();
    for (std::thread& thread : threads) thread.join();  // also waits for what a thread frees last
    return left;
  }
  for (std::thread& thread : threads) thread.detach();
  for (const WorkerStatus& status : shared.workers) {
    if (status.activity != WorkerStatus::Activity::ended) {
      left.push_back(describe(status, *shared.recipe.source, shared.recipe.image_field));
    }
  }
  return left;
}

void Engine::lend(std::span<std::byte> memory) {
  if (reinterpret_cast<std::uintptr_t>(memory.data()) % kHostAlignment != 0) {
    throw Error(ErrorCode::argument, {}, "memory that is lent must be aligned to 64 bytes");
  }
  if (!memory.empty()) shared_->lent->add(memory);
}

bool Engine::decode_on_gpu(bool on_gpu) {
  if (on_gpu && !(shared_->gpu_maker && shared_->gpu_maker->possible())) return false;
  shared_->decode_on_gpu = on_gpu;
  return true;
}

bool Engine::decodes_on_gpu() const { return shared_->decode_on_gpu; }

bool Engine::can_choose_decoder() const {
  const LoaderOptions& options = shared_->options;
  return options.decode == DecodeOn::automatic && !options.resident && shared_->gpu_maker &&
         shared_->gpu_maker->possible();
}

const Mixer* Engine::mixer() const { return shared_->mixer.get(); }

GpuMaker* Engine::gpu_maker() const { return shared_->gpu_maker.get(); }

void Engine::start(std::uint64_t epoch, std::uint64_t position) {
  Shared& shared = *shared_;
  if (::getpid() != shared.process) {
    throw Error(ErrorCode::used_after_fork, {.file = shared.recipe.source->path()}, "");
  }
  // After the last batch of an epoch, the first batch of the next is already prefetched.
  if (shared.started && position == 0 && epoch == shared.epoch + 1 &&
      steps_from(shared.position) == 0) {
    shared.epoch = epoch;
    shared.position = 0;
  }
  if (shared.started && shared.epoch == epoch && shared.position == position) return;
  shared.epoch = epoch;
  shared.position = position;
  if (shared.started && shared.cache.samples) {  // the sequence of draws has changed
    shared.cache.samples->retime([&](std::uint64_t sample) {
      return shared.cache.next_use->from({epoch, position, position}, sample);
    });
  }
  shared.ring.restart([&shared, epoch, position, fresh = true](Slot& slot) mutable {
    if (std::exchange(fresh, false)) {
      shared.open_epoch = epoch;
      shared.open_position = position;
    }
    return shared.open_next(slot);
  });
  if (!shared.started) {
    std::lock_guard lock(shared.mutex);
    if (ended_) throw Error(ErrorCode::closed, {.file = shared.recipe.source->path()}, "");
    shared.meter.start(now_ns());
    if (!shared.publisher) {
      shared.publisher = std::make_unique<Publisher>(shared.recipe.source->path());
    }
    start_threads(static_cast<std::size_t>(*shared.options.threads));
  }
  shared.started = true;
}

// Starts as many threads as the system allows, at least one. With none, the next start() retries.
void Engine::start_threads(std::size_t wanted) {
  Shared& shared = *shared_;
  while (shared.workers.size() < wanted) {
    const std::size_t number = shared.workers.size();
    try {
      WorkerStatus& status = shared.workers.emplace_back();
      if (shared.trainer.track) status.track = &shared.worker_track(number);
      threads_.reserve(threads_.size() + 1);
      threads_.emplace_back([keep = shared_, &status, number] { keep->work(status, number); });
      ++shared.running;
    } catch (const std::exception& error) {
      if (shared.workers.size() > number) shared.workers.pop_back();
      if (number > 0) break;
      throw Error(ErrorCode::no_memory, {.file = shared.recipe.source->path()},
                  fmt::format("no thread could be started: {}", error.what()));
    }
  }
  shared.meter.set_threads(std::min(wanted, shared.workers.size()), now_ns());
}

Engine::Next Engine::next(Batch& out, std::chrono::nanoseconds timeout) {
  while (true) {
    const Next taken = take(out, timeout);
    if (taken != Next::batch || !shared_->is_left_out(out)) return taken;
  }
}

Engine::Next Engine::take(Batch& out, std::chrono::nanoseconds timeout) {
  // Held until return: at exit, a program may free the loader while another thread waits here.
  const std::shared_ptr<Shared> keep = shared_;
  Shared& shared = *keep;
  if (::getpid() != shared.process) {
    throw Error(ErrorCode::used_after_fork, {.file = shared.recipe.source->path()}, "");
  }
  if (shared.verdict) throw *std::exchange(shared.verdict, {});
  if (steps_from(shared.position) == 0) return Next::end;
  std::shared_ptr<Slot> slot;
  const std::uint64_t begin_ns = now_ns();
  const Ring::Taken taken = shared.ring.take(slot, timeout);
  const std::uint64_t end_ns = now_ns();
  {
    std::lock_guard lock(shared.mutex);
    shared.meter.wait(end_ns - begin_ns, taken == Ring::Taken::batch);
    if (taken == Ring::Taken::end && shared.broken) std::rethrow_exception(shared.broken);
    if (shared.tuner && taken != Ring::Taken::end) {
      tune(begin_ns, end_ns, slot.get());
    }
  }
  Track* const track = shared.trainer.track;
  if (track && (taken == Ring::Taken::batch || timeout > std::chrono::nanoseconds(0))) {
    track->add("engine.take", begin_ns, end_ns - begin_ns, shared.position);
  }
  if (taken == Ring::Taken::again) {
    shared.publish_when_due(end_ns);
    return Next::again;
  }
  if (taken == Ring::Taken::end) {
    throw Error(ErrorCode::closed, {.file = shared.recipe.source->path()}, "");
  }
  const bool epoch_begins = shared.position == 0;
  shared.position = slot->next;
  shared.settle_size(*slot);
  shared.deliver(out, slot, epoch_begins);
  if (track) {
    track->add("engine.deliver", end_ns, now_ns() - end_ns, slot->first);
  }
  shared.publish_when_due(end_ns);
  return Next::batch;
}

std::uint64_t Engine::steps_from(std::uint64_t position) const {
  return tundish::steps_from(shared_->schedule, position);
}

const RunIdentity& Engine::identity() const { return shared_->identity; }

const Recipe& Engine::recipe() const { return shared_->recipe; }

const LoaderOptions& Engine::options() const { return shared_->options; }

LoaderStats Engine::stats() const { return shared_->stats(); }

std::uint64_t Engine::bad_positions() const {
  std::lock_guard lock(shared_->mutex);
  return shared_->bad.replaced() + shared_->bad.skipped() + shared_->bad.zeros();
}

std::uint64_t Engine::ready() const { return shared_->ring.stats().ready; }

std::vector<std::string> Engine::warnings() const {
  const CacheSetup& cache = shared_->cache;
  if (!cache.samples || cache.needed <= cache.room) return {};
  const bool decoded = cache.samples->kind() == CacheKind::decoded;
  return {fmt::format(
      "cache: the samples need {} {}, memory has {} for them: {} % stay in memory, those that come "
      "again soonest",
      bytes_text(cache.needed), decoded ? "as pixels" : "as they are stored",
      bytes_text(cache.room), 100 * cache.room / cache.needed)};
}

void Engine::new_window() {
  Shared& shared = *shared_;
  std::lock_guard lock(shared.mutex);
  shared.meter.new_window(shared.meter.stats(shared.workers, shared.trainer));
}

std::vector<BadSample> Engine::bad_samples() const {
  std::lock_guard lock(shared_->mutex);
  return shared_->bad.first();
}

std::vector<std::string> Engine::hanging(std::chrono::nanoseconds limit) {
  std::lock_guard lock(shared_->mutex);
  return tundish::hanging(shared_->workers, *shared_->recipe.source, shared_->recipe.image_field,
                          now_ns(), static_cast<std::uint64_t>(limit.count()));
}

void Engine::close() {
  shared_->ring.close();
  if (shared_->budget) shared_->budget->close();
}

}  // namespace tundish
