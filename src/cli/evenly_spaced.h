// A part of a data set that stands for the whole.
#pragma once

#include <cstdint>

namespace tundish::cli {

// Number k of n that are evenly spaced over `count`: k * count / n, whose product may pass 64 bits.
// n is at most count, and at most 2^32 unless it is count.
inline std::uint64_t evenly_spaced(std::uint64_t k, std::uint64_t n, std::uint64_t count) {
  return k * (count / n) + k * (count % n) / n;
}

}  // namespace tundish::cli
