// Reports threads that hang. The watchdog has no thread: the trainer's thread calls it after
// waiting for a while.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "data/source/source.h"
#include "loader/monitor/worker_status.h"

namespace tundish {

// Returns "reading record 12 of train.tnd (at byte 4,096)", "between two records" and so on. Does
// no I/O, which could hang as well.
std::string describe(const WorkerStatus& status, const Source& source, int image_field);

// Returns the workers that spent more than `limit_ns` in one activity of one sample, each
// reported once: describe() and "for 31 s".
std::vector<std::string> hanging(std::deque<WorkerStatus>& workers, const Source& source,
                                 int image_field, std::uint64_t now_ns, std::uint64_t limit_ns);

}  // namespace tundish
