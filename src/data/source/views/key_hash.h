// A number drawn from a sample's key: the same wherever, whenever and beside whatever other samples
// the key is.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/bytes.h"

// The last include: it changes how the compiler treats what follows.
#include <xxhash.h>

namespace tundish {

// Uniform over 64 bits. Each purpose ("sample", "split") has numbers of its own, so that a part of
// a data set can be split again without bias.
inline std::uint64_t key_hash(std::string_view purpose, std::uint64_t seed, std::string_view key) {
  return XXH3_64bits_withSeed(key.data(), key.size(),
                              XXH3_64bits_withSeed(purpose.data(), purpose.size(), seed));
}

// The least number that is not below `share` (0 to 1) of all 64-bit numbers; share 1: the largest.
inline std::uint64_t share_of_hashes(double share) {
  constexpr double kAll = 18446744073709551616.0;  // 2^64
  if (share <= 0) return 0;
  return share >= 1 ? ~std::uint64_t{0} : static_cast<std::uint64_t>(share * kAll);
}

}  // namespace tundish
