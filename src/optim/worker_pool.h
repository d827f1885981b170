// Threads that share the chunks of a step. They are started by the first step that has enough work
// and wait between steps.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace tundish::optim {

// Used by one thread at a time.
class WorkerPool {
 public:
  explicit WorkerPool(unsigned threads);  // with the caller's; 0: as many as CPUs may be used
  ~WorkerPool();                          // ends the threads
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // Calls task(0) to task(count - 1), each once, on the caller and the other threads; returns when
  // all have returned. The task must not throw. A forked child starts threads of its own.
  void run(std::size_t count, const std::function<void(std::size_t)>& task);

  unsigned threads() const { return threads_; }

 private:
  struct Shared;
  void start();
  void end();

  unsigned threads_;
  std::unique_ptr<Shared> shared_;  // null: no thread runs
};

}  // namespace tundish::optim
