#include "optim/worker_pool.h"

#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "base/machine/usable_cpus.h"

namespace tundish::optim {

namespace {

// The numbers of one thread's part that are still to be processed.
struct alignas(64) Part {
  std::atomic<std::size_t> next = 0;
  std::size_t end = 0;
};

// Spins for a few microseconds until the condition holds. Sleeping and waking take longer, and a
// step may have several passes.
template <class Condition>
bool soon(const Condition& condition) {
  constexpr int kLooks = 500;  // a pause is about 40 to 140 cycles
  for (int i = 0; i < kLooks; ++i) {
    if (condition()) return true;
    __builtin_ia32_pause();
  }
  return false;
}

}  // namespace

struct WorkerPool::Shared {
  explicit Shared(unsigned count) : parts(count) {}

  pid_t process = ::getpid();
  std::mutex mutex;
  std::condition_variable begin, done;
  std::atomic<std::uint64_t> round = 0;  // counts calls of run()
  std::atomic<std::size_t> working = 0;  // threads that have not finished this round
  std::atomic<bool> ending = false;
  const std::function<void(std::size_t)>* task = nullptr;
  std::vector<Part> parts;
  std::vector<std::thread> threads;

  // Gives each thread a contiguous part, read in memory order; a finished thread helps the others.
  void divide(std::size_t count) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      parts[i].next.store(count * i / parts.size(), std::memory_order_relaxed);
      parts[i].end = count * (i + 1) / parts.size();
    }
  }

  void take(std::size_t own) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      Part& part = parts[(own + i) % parts.size()];
      for (std::size_t number = part.next.fetch_add(1, std::memory_order_relaxed);
           number < part.end; number = part.next.fetch_add(1, std::memory_order_relaxed)) {
        (*task)(number);
      }
    }
  }

  void work(std::size_t own) {
    std::uint64_t seen = 0;
    std::unique_lock lock(mutex);
    for (;;) {
      begin.wait(lock, [&] { return ending || round != seen; });
      if (ending) return;
      seen = round;
      lock.unlock();
      take(own);
      lock.lock();
      if (--working == 0) done.notify_one();
      lock.unlock();
      (void)soon([&] { return ending || round != seen; });
      lock.lock();
    }
  }
};

WorkerPool::WorkerPool(unsigned threads) : threads_(threads ? threads : usable_cpus()) {}

WorkerPool::~WorkerPool() { end(); }

void WorkerPool::start() {
  shared_ = std::make_unique<Shared>(threads_);
  for (unsigned i = 1; i < threads_; ++i) {
    try {
      shared_->threads.emplace_back([shared = shared_.get(), i] { shared->work(i); });
    } catch (const std::system_error&) {
      break;  // the system refuses more threads: fewer do the work
    }
  }
}

void WorkerPool::end() {
  if (!shared_) return;
  if (shared_->process != ::getpid()) {
    (void)shared_.release();  // leaked: its threads and mutex owner are in the parent
    return;
  }
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->ending = true;
  }
  shared_->begin.notify_all();
  for (std::thread& thread : shared_->threads) thread.join();
  shared_.reset();
}

void WorkerPool::run(std::size_t count, const std::function<void(std::size_t)>& task) {
  if (threads_ == 1 || count < 2) {
    for (std::size_t i = 0; i < count; ++i) task(i);
    return;
  }
  if (shared_ && shared_->process != ::getpid()) end();
  if (!shared_) start();
  Shared& shared = *shared_;
  {
    const std::lock_guard lock(shared.mutex);
    shared.task = &task;
    shared.divide(count);
    shared.working = shared.threads.size();
    ++shared.round;
  }
  shared.begin.notify_all();
  shared.take(0);
  (void)soon([&] { return shared.working == 0; });
  std::unique_lock lock(shared.mutex);
  shared.done.wait(lock, [&] { return shared.working == 0; });
}

}  // namespace tundish::optim
