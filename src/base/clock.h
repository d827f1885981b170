// A monotonic clock for measurements.
#pragma once

#include <chrono>
#include <cstdint>

namespace tundish {

inline std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

}  // namespace tundish
