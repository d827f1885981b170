// Sources whose number of samples only a scan finds: iterators of Python. Only pack() accepts
// such a source; a Loader needs a count.
#pragma once

#include <cstdint>

#include "data/source/source.h"

namespace tundish {

// Result of count() for such a source: more samples than any dataset has.
inline constexpr std::uint64_t kUnknownCount = 1ull << 40;

inline bool count_known(const Source& source) { return source.count() != kUnknownCount; }

}  // namespace tundish
