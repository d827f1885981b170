// Finds the bits of a block's mask by their rank, without a branch.
#pragma once

#include <cstdint>

#include "base/host_device.h"
#include "codec/lanes/mask_tables.h"

namespace tundish::lanes {
namespace {

// Returns, in each byte, the number of bits set below that byte of the mask.
TUNDISH_INLINE std::uint64_t counts_below(std::uint64_t mask) {
  std::uint64_t count = mask - (mask >> 1 & 0x5555555555555555);
  count = (count & 0x3333333333333333) + (count >> 2 & 0x3333333333333333);
  count = (count + (count >> 4)) & 0x0f0f0f0f0f0f0f0f;
  return count * 0x0101010101010101 << 8;
}

// Returns the position of bit number `rank` of the mask, counted from 0 and from the low end.
TUNDISH_INLINE int place_of_rank(std::uint64_t mask, std::uint64_t below, int rank) {
  // A byte of `beyond` has its highest bit set if the rank is below the byte: no sum exceeds
  // 64 + 127.
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  const std::uint64_t beyond = (below + kOnes * static_cast<unsigned>(127 - rank)) & (kOnes << 7);
  const int octet = beyond == 0 ? 7 : __builtin_ctzll(beyond) / 8 - 1;
  const int left = rank - static_cast<int>(below >> (8 * octet) & 255);
  return 8 * octet +
         static_cast<int>(kMasks.compress[mask >> (8 * octet) & 255] >> (8 * left) & 63);
}

}  // namespace
}  // namespace tundish::lanes
