// A number derived from a sample's key: the same on every machine, at any time, and independent of
// other samples.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/bytes.h"

// Must be the last include: it changes how the compiler treats the code below.
#include <xxhash.h>

namespace tundish {

// Uniform over 64 bits. Each purpose ("sample", "split") has independent numbers, so that a part of
// a dataset can be split again without bias.
inline std::uint64_t key_hash(std::string_view purpose, std::uint64_t seed, std::string_view key) {
  return XXH3_64bits_withSeed(key.data(), key.size(),
                              XXH3_64bits_withSeed(purpose.data(), purpose.size(), seed));
}

// Returns the fraction `share` (0 to 1) of the range of 64-bit hashes; share 1: the largest hash.
inline std::uint64_t share_of_hashes(double share) {
  constexpr double kAll = 18446744073709551616.0;  // 2^64
  if (share <= 0) return 0;
  return share >= 1 ? ~std::uint64_t{0} : static_cast<std::uint64_t>(share * kAll);
}

}  // namespace tundish
