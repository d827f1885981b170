// Threads that read and prepare the samples of a source for one writer.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "data/pack/write/ordered_queue.h"
#include "data/pack/write/work_memory.h"

namespace tundish {

// The requested samples of the source.
struct Wanted {
  std::uint64_t first = 0, end = 0;
  // Sample i is expected to be record i - before. The writer updates `before` after every refused
  // sample, and recomputes the checksums of a sample that was prepared with another number.
  const std::atomic<std::uint64_t>& before;
};

// The destructor joins the threads. The queue's take() rethrows exceptions of the threads.
class Preparers {
 public:
  // Uses one thread for a source that can only be scanned. Re-codes no JPEGs without tables. All
  // arguments must outlive the object. Throws std::system_error if no thread can be started.
  Preparers(OrderedQueue& queue, const Source& source, const Wanted& wanted,
            const PackOptions& options, const lanes::Tables* tables);
  ~Preparers();
  Preparers(const Preparers&) = delete;
  Preparers& operator=(const Preparers&) = delete;

 private:
  OrderedQueue& queue_;
  WorkMemory memory_{kWorkBytes};
  std::vector<std::thread> threads_;
};

}  // namespace tundish
