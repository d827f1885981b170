// Threads that share the chunks of a step. The first step with enough work starts the threads; they
// wait between steps.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace tundish::optim {

// Not thread-safe.
class WorkerPool {
 public:
  explicit WorkerPool(unsigned threads);  // includes the caller's thread; 0: all available CPUs
  ~WorkerPool();                          // ends the threads
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // Calls task(0) to task(count - 1), each once, on the caller and the other threads. Returns when
  // all calls have returned. The task must not throw. A forked child starts its own threads.
  void run(std::size_t count, const std::function<void(std::size_t)>& task);

  unsigned threads() const { return threads_; }

 private:
  struct Shared;
  void start();
  void end();

  unsigned threads_;
  std::unique_ptr<Shared> shared_;  // null: no thread is running
};

}  // namespace tundish::optim
