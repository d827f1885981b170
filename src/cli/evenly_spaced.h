// Evenly spaced samples that represent a whole dataset.
#pragma once

#include <cstdint>

namespace tundish::cli {

// Returns item k of n evenly spaced items out of `count`: k * count / n, without 64-bit overflow.
// Requires n <= count, and n <= 2^32 unless n == count.
inline std::uint64_t evenly_spaced(std::uint64_t k, std::uint64_t n, std::uint64_t count) {
  return k * (count / n) + k * (count % n) / n;
}

}  // namespace tundish::cli
