// Tables of shuffles by a mask of eight: bytes together, and apart again.
#pragma once

#include <cstdint>

namespace tundish::lanes {

// For each of 256 masks: which bytes (or words) it keeps, and where they go back to.
struct MaskTables {
  std::uint64_t compress[256];             // byte i: place of the i-th one; 0x80 after the last
  std::uint64_t expand[256];               // byte i: number of the one at place i; 0x80 for a zero
  alignas(32) std::uint32_t rank[256][8];  // number of the one at place i; 0 for a zero
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
