// The wanted blocks of a unit, two neighbours at a time, listed by how much work they are: what
// runs along a list has no branch to mispredict.
#pragma once

#include <cstdint>

#include "lanes/pixels.h"

namespace tundish::lanes {

// Two blocks side by side, by their numbers in the unit. A last one without a neighbour stands
// for both: its samples are written twice, side by side.
struct BlockPair {
  std::uint8_t left, right;
  std::uint16_t component;
  std::int32_t offset;  // from ComponentTask::out
};

inline constexpr int kMaxPairs = 96;

struct BlockList {
  int count;
  BlockPair pair[kMaxPairs + 8];  // with room for a whole register behind the last
};

struct BlockLists {
  BlockList flat;     // DC alone
  BlockList low;      // nothing but the 4 x 4 lowest frequencies
  BlockList full;     // any frequencies
  BlockList general;  // with an escape, or any AC where a quantiser is above 255

  // UnitValues::mask, with bit 0 for blocks that have an escape; escape[block] is then the number
  // of the last one of the block.
  const std::uint64_t* marked;
  std::uint16_t escape[kMaxBlocks];
  alignas(64) std::uint64_t marked_memory[kMaxBlocks + 8];
};

// The bits of a mask for the 4 x 4 lowest frequencies, without DC.
inline constexpr std::uint64_t kLowMask = 0x1063bfe;

void sort_blocks(BlockLists& out, const UnitTask& task);

// Fills in `marked` and `escape`.
void mark_escapes(BlockLists& out, const UnitValues& unit);

namespace avx512 {
void sort_blocks(BlockLists& out, const UnitTask& task);
}

}  // namespace tundish::lanes
