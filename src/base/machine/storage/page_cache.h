// The part of a set of files that is already in memory.
#pragma once

#include "base/machine/storage/data_files.h"

namespace tundish {

struct CachedPart {
  std::uint64_t cached = 0, seen = 0;  // bytes
  double share() const {
    return seen > 0 ? static_cast<double>(cached) / static_cast<double>(seen) : 0;
  }
};

enum class CacheQuestion {
  any,      // cachestat where the kernel has it (6.5), otherwise mincore
  mincore,  // for tests: both must agree
};

// Samples up to 256 of the files, evenly spaced. Reads nothing; omits files it cannot query.
CachedPart find_cached_part(const DataFiles& data, CacheQuestion how = CacheQuestion::any);

}  // namespace tundish
