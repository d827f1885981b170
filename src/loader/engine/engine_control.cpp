// Starts and ends an engine's threads, sets their position, and selects who decodes.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "base/clock.h"
#include "loader/engine/engine_shared.h"
#include "loader/monitor/watchdog.h"

namespace tundish {
namespace {

constexpr auto kJoinTimeout = std::chrono::milliseconds(900);

}  // namespace

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

void Engine::close() {
  shared_->ring.close();
  if (shared_->budget) shared_->budget->close();
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

std::uint64_t Engine::steps_from(std::uint64_t position) const {
  return tundish::steps_from(shared_->schedule, position);
}

const RunIdentity& Engine::identity() const { return shared_->identity; }

const Recipe& Engine::recipe() const { return shared_->recipe; }

const LoaderOptions& Engine::options() const { return shared_->options; }

}  // namespace tundish
