// Names what hangs. There is no thread for it: the trainer's asks when it has waited for a while.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "batch/doing.h"
#include "source/source.h"

namespace tundish {

std::string describe(const Doing& doing);  // "reading record 12", "between two records"

// The workers that have been at one stage of one sample for longer than `limit_ns`, each told once:
// "reading record 12 of train.tnd (at byte 4,096) for 31 s". Does no I/O: that could hang as well.
std::vector<std::string> hanging(std::deque<Doing>& workers, const Source& source, int image_field,
                                 std::uint64_t now_ns, std::uint64_t limit_ns);

}  // namespace tundish
