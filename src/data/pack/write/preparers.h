// The threads that read and prepare the samples of a source, for one writer.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "data/pack/write/handover.h"
#include "data/pack/write/work_memory.h"

namespace tundish {

// Which samples of the source are wanted.
struct Wanted {
  std::uint64_t first = 0, end = 0;
  // Sample i is expected to be record i - before. The writer changes it with every sample that is
  // refused; a sample that was prepared with another number gets its checksums again.
  const std::atomic<std::uint64_t>& before;
};

// Joins its threads when it goes. What a thread throws, the handover's take() throws.
class Preparers {
 public:
  // One thread for a source that can only be scanned. Without tables JPEGs are not re-coded. All
  // arguments outlive the object. Throws std::system_error when not one thread can be started.
  Preparers(Handover& handover, const Source& source, const Wanted& wanted,
            const PackOptions& options, const lanes::Tables* tables);
  ~Preparers();
  Preparers(const Preparers&) = delete;
  Preparers& operator=(const Preparers&) = delete;

 private:
  Handover& handover_;
  WorkMemory memory_{kWorkBytes};
  std::vector<std::thread> threads_;
};

}  // namespace tundish
