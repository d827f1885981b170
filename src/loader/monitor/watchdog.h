// Names what hangs. The watchdog has no thread: the trainer's thread asks when it has waited for a
// while.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "data/source/source.h"
#include "loader/monitor/worker_status.h"

namespace tundish {

// "reading record 12 of train.tnd (at byte 4,096)", "between two records". Does no I/O: that could
// hang as well.
std::string describe(const WorkerStatus& status, const Source& source, int image_field);

// The workers that have been at one activity of one sample for longer than `limit_ns`, each
// reported once: describe() and "for 31 s".
std::vector<std::string> hanging(std::deque<WorkerStatus>& workers, const Source& source,
                                 int image_field, std::uint64_t now_ns, std::uint64_t limit_ns);

}  // namespace tundish
