// Sources that find their end only when they are scanned: iterators of Python. Only pack() takes
// such a source; a Loader needs a count.
#pragma once

#include <cstdint>

#include "data/source/source.h"

namespace tundish {

// What count() of such a source gives: more samples than any data set has.
inline constexpr std::uint64_t kUnknownCount = 1ull << 40;

inline bool count_known(const Source& source) { return source.count() != kUnknownCount; }

}  // namespace tundish
