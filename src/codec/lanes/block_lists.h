// The wanted blocks of a unit, in pairs of neighbors, listed by the amount of work. A loop along
// one list has no branch to mispredict.
#pragma once

#include <cstdint>

#include "base/host_device.h"
#include "codec/lanes/pixels.h"

namespace tundish::lanes {

// Two adjacent blocks, by their numbers in the unit. A last block without a neighbor is used twice:
// its samples are written twice, side by side.
struct BlockPair {
  std::uint8_t left, right;
  std::uint16_t component;
  std::int32_t offset;  // from ComponentTask::out
};

inline constexpr int kMaxPairs = 96;

struct BlockList {
  int count;
  BlockPair pair[kMaxPairs + 8];  // with room for a whole register after the last
};

struct BlockLists {
  BlockList flat;     // only DC
  BlockList low;      // only the 4 x 4 lowest frequencies
  BlockList full;     // any frequencies
  BlockList general;  // with an escape, or with AC if a quantizer is above 255

  // UnitValues::mask, with bit 0 set for blocks that have an escape; escape[block] is then the
  // number of the block's last escape.
  const std::uint64_t* marked;
  std::uint16_t escape[kMaxBlocks];
  alignas(64) std::uint64_t marked_memory[kMaxBlocks + 8];
};

// Mask bits of the 4 x 4 lowest frequencies, without DC.
inline constexpr std::uint64_t kLowMask = 0x1063bfe;

// Returns both passes' result for a block with only DC.
TUNDISH_INLINE int flat_level(int dc) {
  const int level = ((static_cast<std::int16_t>(4 * dc) + 16) >> 5) + 128;
  return level < 0 ? 0 : level > 255 ? 255 : level;
}

void sort_blocks(BlockLists& out, const UnitTask& task);

// Sets `marked` and `escape`.
template <typename Finder>
TUNDISH_INLINE void mark_escapes(BlockLists& out, const UnitValues& unit) {
  out.marked = unit.mask;
  if (unit.escapes == 0) return;
  for (int b = 0; b < unit.blocks; ++b) out.marked_memory[b] = unit.mask[b];
  const Finder finder(unit);
  for (int i = 0; i < unit.escapes; ++i) {
    const int block = finder.find(unit.escape[i].position);
    out.marked_memory[block] |= 1;
    out.escape[block] = static_cast<std::uint16_t>(i);
  }
  out.marked = out.marked_memory;
}

namespace avx512 {
void sort_blocks(BlockLists& out, const UnitTask& task);
}

}  // namespace tundish::lanes
