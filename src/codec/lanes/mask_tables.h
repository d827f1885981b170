// Shuffle tables indexed by a mask of eight: compress bytes, and expand them again.
#pragma once

#include <cstdint>

namespace tundish::lanes {

// For each of 256 masks: the bytes (or words) it keeps, and their original positions.
struct MaskTables {
  std::uint64_t compress[256];             // byte i: place of the i-th one bit; 0x80 after the last
  std::uint64_t expand[256];               // byte i: rank of the one bit at i; 0x80 for a zero bit
  alignas(32) std::uint32_t rank[256][8];  // rank of the one bit at i; 0 for a zero bit
};
constexpr MaskTables make_mask_tables() {
  MaskTables out = {};
  for (unsigned mask = 0; mask < 256; ++mask) {
    std::uint64_t compress = 0x8080808080808080, expand = 0x8080808080808080;
    unsigned ones = 0;
    for (unsigned i = 0; i < 8; ++i) {
      if (!(mask >> i & 1)) continue;
      compress ^= (0x80 ^ std::uint64_t{i}) << (8 * ones);
      expand ^= (0x80 ^ std::uint64_t{ones}) << (8 * i);
      out.rank[mask][i] = ones++;
    }
    out.compress[mask] = compress;
    out.expand[mask] = expand;
  }
  return out;
}
inline constexpr MaskTables kMasks = make_mask_tables();

}  // namespace tundish::lanes
